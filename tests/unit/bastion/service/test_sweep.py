"""The sweep of what nobody desires has an age guard, and never meets a live attempt."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from bastion.journal.leadership import WINDOW_S
from bastion.model.interfaces import AttemptKey, Machine
from bastion.model.stored.events import Started, Submitted
from bastion.service.reconcile import STRAY_S
from tests.support.world import NOON, spec
from tests.support.yard import Yard

STRAY = AttemptKey("stray", 0, 0)


def test_a_machine_of_no_known_attempt_is_left_alone_for_a_while_and_then_deleted() -> None:
    yard = Yard()
    yard.runner.has("s", STRAY)
    for _ in range(4):
        yard.turn()
        assert yard.deletes() == []
        yard.clock.now += STRAY_S / 4
    yard.turn()
    assert yard.deletes() == ["s"]


def test_its_age_is_counted_anew_whenever_it_was_not_listed_or_was_known() -> None:
    yard = Yard()
    yard.runner.has("s", STRAY)
    yard.turn()
    machines, yard.runner.machines = yard.runner.machines, []
    yard.clock.now += STRAY_S
    yard.turn()
    yard.runner.machines = machines
    yard.turn()
    assert yard.deletes() == []
    yard.folds(
        Submitted(request="q", job="stray", spec=spec()),
        Started(job="stray", task=0, attempt=0, runner="local", tier=0, workers=1),
    )
    yard.clock.now += STRAY_S
    for _ in range(3):
        yard.turn()
        yard.clock.now += STRAY_S
    assert yard.deletes() == []


def test_who_lost_its_place_cannot_act_for_as_long_as_the_guard_lasts() -> None:
    assert STRAY_S >= WINDOW_S


@given(st.lists(st.tuples(st.sampled_from("promise list turn wait".split()), st.integers(0, 3)), max_size=40))
def test_no_machine_of_an_attempt_that_was_promised_is_ever_deleted(moves: list[tuple[str, int]]) -> None:
    """Whatever is promised, comes up and is listed in whatever order, also while a listing is under way."""
    yard = Yard()
    jobs = [f"n{number}" for number in range(4)]
    good = yard.runner.list
    during: list[str] = []

    def promise(job: str) -> None:
        if job not in yard.state.jobs:
            yard.folds(
                Submitted(request=f"alice/{job}", job=job, spec=spec()),
                Started(job=job, task=0, attempt=0, runner="local", tier=0, workers=1),
            )
            yard.runner.has(f"m-{job}", AttemptKey(job, 0, 0))

    def listing() -> Sequence[Machine]:
        for job in during:
            promise(job)
        during.clear()
        return good()

    yard.runner.list = listing  # type: ignore[method-assign]
    for move, number in moves:
        if move == "promise":
            promise(jobs[number])
        elif move == "list":
            during.append(jobs[number])
        elif move == "turn":
            yard.turn()
            assert yard.deletes() == []
        else:
            yard.clock.now += STRAY_S * number
            yard.state.now = NOON + timedelta(seconds=yard.clock.now)
