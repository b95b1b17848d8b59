"""Every process of every scenario falls at its calls, and all ends as it could have, had nothing fallen.

A failure names the play; `python -m tests.simulation.crashes --scenario … --crash …` tells its story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from random import Random
from typing import Any

import pytest

from bastion.journal import attempts
from bastion.model.state.state import Cause
from bastion.runners.worker import run as worker
from bastion.runners.worker.spool import Spool
from bastion.service import loop
from tests.depth import DEPTH
from tests.simulation.crashes.enumeration import Recorded
from tests.simulation.crashes.play import play
from tests.simulation.crashes.scenarios import SCENARIOS

EVERY = 1 if DEPTH == "night" else 4
"""At each of so many calls it falls, from one on that the scenario's name decides; at night at all of them."""

PAIRS = 30 if DEPTH == "night" else 2


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_it_may_fall_at_its_calls(name: str) -> None:
    recorded = Recorded(SCENARIOS[name])
    some = islice(recorded.telling(), Random(name).randrange(EVERY), None, EVERY)
    assert list(recorded.violations(some)) == []


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_it_may_fall_twice(name: str) -> None:
    recorded = Recorded(SCENARIOS[name])
    assert list(recorded.violations(islice(recorded.pairs(Random(name)), PAIRS))) == []


def test_there_are_twenty_scenarios_and_more() -> None:
    named = ("succeed", "preempt", "fail_and_retry", "cancel_running", "array", "break_the_quota", "stand_by")
    assert set(named) <= SCENARIOS.keys()
    assert len(SCENARIOS) >= 20


def test_all_kinds_of_processes_fall_on_all_sides() -> None:
    recorded = Recorded(SCENARIOS["snapshot"])
    kinds = {
        (recorded.calm.calls[crash.call].who.split()[0], crash.side, crash.fate) for (crash,) in recorded.singles()
    }
    once, twice = ("killed",), ("killed", "lost")
    fates = {"bastion": once, "snapshot": once, "worker": twice, "client": twice}
    assert {(who, side, fate) for who, side, fate in kinds if side != "late"} == {
        (who, side, fate) for who, known in fates.items() for fate in known for side in ("before", "after")
    }
    assert {who for who, side, _ in kinds if side == "late"} == fates.keys()


def test_only_a_fall_after_a_look_is_like_another() -> None:
    recorded = Recorded(SCENARIOS["stand_by"])
    calls, tried = recorded.calm.calls, set(recorded.telling())
    left_out = {(crash.side, calls[crash.call].verb) for (crash,) in set(recorded.singles()) - tried}
    assert left_out == {("after", "read"), ("after", "list"), ("after", "look")}
    assert {crash.call for (crash,) in tried} == set(range(len(calls)))


def test_one_scenario_is_one_run() -> None:
    scenario = SCENARIOS["preempt"]
    assert play(scenario).calls == play(scenario).calls


# The relation can fail


@contextmanager
def changed(where: Any, name: str, what: Any) -> Iterator[None]:
    """Replace a piece of the code for a while."""
    kept = getattr(where, name)
    setattr(where, name, what)
    try:
        yield
    finally:
        setattr(where, name, kept)


def the_keeper_begins_the_log_anew() -> Any:
    """A keeper that ends for its worker does not look at what that one had stored of the log."""
    return changed(Spool, "resume", lambda self: None)


def _forgotten_at_a_start(field: str) -> Any:
    load = loop.load

    def mutant(*doors: Any) -> Any:
        state = load(*doors)
        setattr(state, field, {})
        return state

    return changed(loop, "load", mutant)


def requests_forgotten() -> Any:
    """A bastion that starts does not know which requests were taken in."""
    return _forgotten_at_a_start("requests")


def reclaims_forgotten() -> Any:
    """A bastion that starts does not know for whom others were stopped."""
    return _forgotten_at_a_start("reclaims")


def a_loss_burns_a_try() -> Any:
    """What infrastructure breaks counts as the user's failure."""
    return changed(attempts, "FAILURES", attempts.FAILURES | {Cause.LOST})


def facts_before_the_log() -> Any:
    """The worker says that it ended, and then stores the rest of the log."""

    def end(self: Any, cause: Cause, code: int | None, message: str, note: str = "") -> int:
        self._enter("ended", cause=cause, exit_code=code, message=message)
        self._pump.until_true(lambda: self._reporter.told)
        self._spool.close(note)
        self._pump.hurry("flush")
        self._pump.until_true(lambda: self._spool.ended)
        return code or 0

    return changed(worker._Worker, "_end", end)


@pytest.mark.parametrize(
    ("mutant", "name"),
    [
        (the_keeper_begins_the_log_anew, "succeed"),
        (requests_forgotten, "succeed"),
        (reclaims_forgotten, "reclaim_for_a_large_one"),
        (a_loss_burns_a_try, "succeed"),
        (facts_before_the_log, "succeed"),
    ],
)
def test_a_planted_bug_is_seen_by_crashes_alone(mutant: Callable[[], Any], name: str) -> None:
    with mutant():
        recorded = Recorded(SCENARIOS[name])  # raises if it is seen in calm already
        plans = list(recorded.singles())
        assert next(recorded.violations(Random(1).sample(plans, len(plans))), None)
