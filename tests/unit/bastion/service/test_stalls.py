"""What stands still is named, with what to do; what moves as it should is not."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bastion.model import layout
from bastion.model.state.state import Cause, State
from bastion.model.stored.events import Started, Submitted
from bastion.schedule.lifecycle import FORMING
from bastion.service import watchdog
from bastion.service.reconcile import OVERTIME
from bastion.service.task_results import BackgroundTask, RunnerSeen, SnapshotMade
from bastion.service.watchdog import MARGIN, ServiceView, TickMeasurements, Watchdog
from tests.support.doors import fails, folded
from tests.support.town import Town
from tests.support.world import NOON, spec
from tests.support.yard import J0, claim, stop


def submitted(job: str, **fields: Any) -> Submitted:
    return Submitted(request=f"alice/{job}", job=job, spec=spec(**fields))


def seen(state: State, after_s: float = 0.0, watchdog: Watchdog | None = None, **more: Any) -> list[str]:
    """The lines of a watchdog for this state, so many seconds after noon."""
    usual = {"runners": ["local"], "measurements": TickMeasurements(decided=after_s), "due": False}
    scene = ServiceView(state=state, now=NOON + timedelta(seconds=after_s), at=after_s, **{**usual, **more})
    return (watchdog or Watchdog()).stalls(scene)


def attempt(*events: Any, runner: str = "local") -> State:
    return folded(submitted("j"), Started(**J0, runner=runner, tier=0, workers=1), *events)


def test_who_starts_runs_and_stops_in_time_is_not_named() -> None:
    assert seen(State()) == []
    assert seen(attempt(), (FORMING + MARGIN).total_seconds()) == []
    assert seen(attempt(claim()), 10**6) == [], "a job may run for ever"
    assert seen(attempt(claim(), stop()), (30 + MARGIN.total_seconds())) == []


@pytest.mark.parametrize(
    ("state", "after_s", "words"),
    [
        (
            attempt(),
            (FORMING + MARGIN).total_seconds() + 1,
            "j/0/0 has been starting since 12:00 UTC, 15m1s ago; see bastion logs",
        ),
        (
            attempt(claim(), stop()),
            331,
            "j/0/0 should have ended by 12:00 UTC, 5m1s ago, and local does not say that its machine m is gone",
        ),
        (
            attempt(claim(), runner="gke"),
            0,
            "on the runner gke, which is not configured: the bastion cannot learn when its machine m",
        ),
    ],
)
def test_an_attempt_beyond_every_bound_is_named(state: State, after_s: float, words: str) -> None:
    (line,) = seen(state, after_s)
    assert words in line


def test_every_bound_is_behind_what_the_design_does_itself() -> None:
    assert OVERTIME < MARGIN


def test_an_attempt_whose_process_has_ended_and_whose_machine_stays_is_named() -> None:
    town = Town()
    job = town.submits()
    town.ticks(1)
    key = town.runs(job)
    town.says(key, Cause.OK, 0)
    town.ticks(20)
    assert not [problem for problem in town.status().problems if "stalled" in problem]
    town.ticks(700)
    (line,) = (problem for problem in town.status().problems if "stalled" in problem)
    assert line.startswith(f"stalled: {key} ended ")
    assert f"does not say that its machine machine-{key}-0 is gone; end it there by hand" in line
    town.runner.loses(f"machine-{key}-0")
    town.ticks(20)
    assert town.status().problems == []


def test_jobs_of_which_nothing_is_decided_are_named() -> None:
    town = Town()
    town.ticks(2)
    town.runner.blind = True
    town.ticks(1_000)
    assert not [problem for problem in town.status().problems if "decided" in problem]
    job = town.submits()
    town.ticks(290)
    assert not [problem for problem in town.status().problems if "decided" in problem]
    town.ticks(30)
    (line,) = (problem for problem in town.status().problems if "decided" in problem)
    assert f"1 jobs wait, first {job}; check that the runner answers" in line
    town.runner.blind = False
    town.ticks(20)
    assert town.status().problems == []


def test_a_task_that_never_returns_is_named() -> None:
    town = Town()
    turn = BackgroundTask(RunnerSeen, "local")
    town.tasks.held.add(turn)
    town.ticks(290)
    assert not [problem for problem in town.status().problems if "task" in problem]
    town.ticks(20)
    (line,) = (problem for problem in town.status().problems if "task" in problem)
    assert line.startswith("stalled: the task 'runner local' has not returned for 5 min; restart the bastion")
    town.tasks.held.clear()
    town.tasks.release(turn)
    town.ticks(10)
    assert not [problem for problem in town.status().problems if "task" in problem]


def test_a_task_that_makes_thousands_of_calls_has_more_time_and_the_time_is_that_of_its_type() -> None:
    running = {BackgroundTask(SnapshotMade): 0.0, BackgroundTask(RunnerSeen, "local"): 0.0}
    assert seen(State(), 300, tasks=running) == []
    (line,) = seen(State(), 900, tasks=running)
    assert line.startswith("the task 'runner local' has not returned for 15 min")
    assert len(seen(State(), 901, tasks=running)) == 2


def test_a_snapshot_that_fails_again_and_again_is_named_until_it_is_made() -> None:
    town = Town()
    made = []

    def fail() -> None:
        made.append(True)
        raise OSError("no room")

    doors = town.bastion.context
    good = doors.snapshot
    object.__setattr__(doors, "snapshot", fail)
    for _ in range(70):
        town.submits(resources={"v4": 8})
        town.ticks(1)
    town.ticks(100)
    assert len(made) > 2
    assert any("snapshot: " in problem and "no room" in problem for problem in town.status().problems)
    object.__setattr__(doors, "snapshot", good)
    town.ticks(40)
    assert town.status().problems == []


def test_a_slow_tick_is_named_for_a_while() -> None:
    measurements = TickMeasurements(decided=0, lag=(100.0, 42.0))
    (line,) = seen(State(), 160, measurements=measurements)
    assert line.startswith("a tick took 42 s, 1 min ago")
    assert seen(State(), 100 + watchdog.LAG_SHOWN_S, measurements=measurements) == []


def test_a_tick_measures_itself() -> None:
    town = Town()
    town.ticks(1)
    town.submits()
    town.clock.now += 1
    good = town.bucket.read

    def slow(key: str, limit: int | None = None) -> Any:
        town.clock.now += 40 if key.startswith(layout.INBOX) else 0
        return good(key, limit)

    town.bucket.read = slow  # type: ignore[method-assign]
    town.bastion.tick()
    assert town.bastion.measurements.lag is not None
    assert town.bastion.measurements.lag[1] == 40


def test_a_request_that_cannot_be_read_is_named() -> None:
    town = Town()
    key = layout.request("eve", "1")
    town.bucket.inner.create(key, b"{}")
    town.bucket.faults = [lambda verb, named: fails(verb, named) if (verb, named) == ("read", key) else None] * 99_999
    town.ticks(590)
    assert not [problem for problem in town.status().problems if "stalled" in problem]
    town.ticks(30)
    (line,) = (problem for problem in town.status().problems if "stalled" in problem)
    assert line == f"stalled: 1 requests have had no answer for 10 min, first {key}; if it cannot be read, remove it"


def test_a_job_that_the_schedule_does_not_know_is_named_and_there_is_none() -> None:
    town = Town()
    town.submits(resources={"v4": 8})
    waiting = [town.submits(resources={"v4": 8}) for _ in range(3)]
    town.ticks(2)
    lineup, state = town.bastion._pending, town.bastion.journal.state
    assert lineup.overlooked(state, NOON) == ()
    lineup._index.wait_no_more(waiting[1])
    assert lineup.overlooked(state, NOON) == (waiting[1],)
    (line,) = seen(state, measurements=TickMeasurements(decided=0, overlooked=lineup.overlooked(state, NOON)))
    assert line.startswith(f"1 jobs may start but are not considered, first {waiting[1]}; ")


def test_of_many_that_stand_still_twenty_are_named() -> None:
    begun = [
        submitted("j", count=50),
        *(Started(**{**J0, "task": n}, runner="gke", tier=0, workers=1) for n in range(50)),
    ]
    lines = seen(folded(*begun))
    assert len(lines) == watchdog.SHOWN + 1
    assert lines[-1] == "30 more stand still"
