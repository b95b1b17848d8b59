"""A job of several shapes is, while something of it lives, the one that it took: for the fold, the order, usage and history."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bastion.journal.fold import apply
from bastion.launcher.read.job_rows import row
from bastion.model.errors import IllegalMove, SpecError
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import deserialize_jobspec, new_jobspec, serialize_jobspec
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import AnyEvent, Ended, Started, Submitted, Voided
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.quota import Quota
from bastion.schedule.admission import complaints, hopeless
from bastion.schedule.desired import desired, order
from bastion.schedule.ledger import BY, Ledger
from bastion.schedule.time_integral import Window
from tests.support.doors import folded
from tests.support.world import NOON, spec

OTHER = Alternative(resources={"v5p": 2}, replicas=3)
WISH = spec(resources={"v4": 4}, count=2, alternatives=[OTHER])
SUBMITTED = Submitted(request="r", job="j", spec=WISH)
FIRST = {"v4": 4}


def started(task: int = 0, attempt: int = 0, **more: Any) -> Started:
    return Started(job="j", task=task, attempt=attempt, runner="local", tier=0, workers=1, **more)


def over(task: int = 0, attempt: int = 0, outcome: JobState = JobState.PENDING) -> list[AnyEvent]:
    at: dict[str, Any] = {"job": "j", "task": task, "attempt": attempt}
    return [Voided(**at, worker=0), Ended(**at, cause=Cause.PREEMPTED, outcome=outcome, reason="")]


def test_what_lives_is_of_the_choice_and_what_waits_of_the_first() -> None:
    state = folded(SUBMITTED)
    job = state.jobs["j"]
    seen = [(job.choice, job.demand)]
    for events in ([started(choice=1)], [started(1, choice=1)], over(), over(1), [started(0, 1)]):
        folded(*events, state=state)
        seen.append((job.choice, job.demand))
    assert seen == [(0, FIRST), (1, {"v5p": 6}), (1, {"v5p": 6}), (1, {"v5p": 6}), (0, FIRST), (0, FIRST)]
    told = row(job, "")
    assert [(each["replicas"], each["resources"]) for each in told["attempts"]] == [
        (3, {"v5p": 2}), (1, FIRST), (3, {"v5p": 2})
    ]  # fmt: skip


@pytest.mark.parametrize("choice", [0, 2, -1])
def test_two_choices_of_a_job_never_live_at_one_time(choice: int) -> None:
    state = folded(SUBMITTED, started(choice=1))
    with pytest.raises(IllegalMove, match="choice"):
        apply(state, started(1, choice=choice), 9, 0)
    assert state.jobs["j"].demand == {"v5p": 6}
    with pytest.raises(IllegalMove, match="choice"):
        apply(folded(Submitted(request="r", job="j", spec=spec())), started(choice=1), 9, 0)


def test_workers_and_runners_are_told_of_the_shape_that_was_given() -> None:
    (found,) = desired(folded(SUBMITTED, started(choice=1)))
    assert (found.placement.resources, found.placement.replicas) == ({"v5p": 2}, 3)
    told = order(found, WISH)
    assert (told.resources, told.replicas) == ({"v5p": 2}, 3)


@pytest.mark.parametrize("known", [0, 2])
def test_usage_goes_by_what_was_given(known: int) -> None:
    rows: list[list[AnyEvent]] = [[SUBMITTED], [started(choice=1)], over(), [started(0, 1)]]
    records = [
        JournalObject(seq=n, epoch=1, nonce="n", now=NOON + timedelta(hours=n), events=events)
        for n, events in enumerate(rows)
    ]
    state = State()
    for record in records[:known]:
        state.now = record.now
        folded(*record.events, state=state)
    ledger = Ledger(Window(NOON + timedelta(hours=min(known, 1)), NOON + timedelta(hours=4)), BY["project"], state)
    for record in records[known:]:
        ledger.take(record)
    ledger.close()
    held = ledger.entries[WISH.project].held
    assert {kind: sum(integral.sums) / 3.6e9 for kind, integral in held.items()} == {"v5p": 6.0, "v4": 4.0}


def test_a_spec_with_alternatives_is_the_same_after_a_journey() -> None:
    assert deserialize_jobspec(serialize_jobspec(WISH)) == WISH
    assert WISH.choices == (Alternative(resources=FIRST), OTHER)


@pytest.mark.parametrize(
    ("alternatives", "wrong"),
    [
        ([OTHER] * 4, "alternatives has 4 beside the first choice; at most 3 are allowed"),
        ([Alternative(resources={"v4": 4})], "alternatives has a shape twice, 'v4=4' x 1; name it once"),
        ([OTHER, OTHER], "alternatives has a shape twice"),
        ([Alternative()], "alternatives 1 asks for no resources; name at least one kind"),
        ([Alternative(resources={"v5p": 0})], "alternatives 1: resources v5p is 0; use a whole number"),
        ([Alternative(resources={"a b": 1})], "alternatives 1: resources names the kind 'a b'"),
        ([Alternative(resources={"v5p": 1}, replicas=0)], "alternatives 1: replicas is 0; use 1 to 10000"),
        ([Alternative(resources={"v5p": 1}, instance_type="a/b")], "alternatives 1: instance_type is 'a/b'"),
    ],
)
def test_a_list_that_makes_no_sense_is_refused_by_its_field(alternatives: list[Alternative], wrong: str) -> None:
    fields = {"name": "j", "user": "u", "project": "p", "command": "c", "resources": FIRST}
    with pytest.raises(SpecError) as caught:
        new_jobspec(**fields, alternatives=alternatives)
    assert wrong in str(caught.value)


def test_a_job_is_refused_only_if_none_of_its_shapes_can_ever_be() -> None:
    quota = Quota.open()
    assert complaints(WISH, quota, [{"v4": 8}], None) == []
    assert list(hopeless(WISH, [{"v4": 8}])) == ["choice 2, v5p=6, can never start: this fleet has no v5p; it has v4=8"]
    assert list(hopeless(WISH, [{"v4": 8, "v5p": 8}])) == []
    wrong = complaints(WISH, quota, [{"v4": 2, "v5p": 2}], None)
    assert [text.partition(",")[0] for text in wrong] == [
        "v4=4 is more than the fleet has",
        "v5p=6 is more than the fleet has",
    ]
