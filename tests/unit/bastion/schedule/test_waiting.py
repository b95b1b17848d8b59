"""Who asks the policy for room, who already holds some, and in which words everybody else waits."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bastion.model.settings.config import Config
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    CapacityChanged,
    Claimed,
    Ended,
    Gone,
    Started,
    Stopping,
    Submitted,
)
from bastion.quota.demand import Schedule, Start, Stop
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse
from bastion.quota.tiers import Capacity
from bastion.schedule.plan import DecisionInputs, current_capacity, dropped, plan, starts, stops, waiting_tasks
from tests.support.doors import folded
from tests.support.world import NOON, spec

OPEN = DecisionInputs(quota=Quota.open(), config=Config())
SHARED = DecisionInputs(
    quota=parse("""
[toml-schema]
version = "1"
[total_resources]
v4 = 8
[project_membership]
red = ["alice"]
blue = ["bob"]
[project_resources]
red.v4 = 0.5
blue.v4 = 0.5
"""),
    config=Config(reclaim_delay=0),
)
FLEET = CapacityChanged(runner="local", resources={"v4": 8})
SECOND = timedelta(seconds=1)


def submitted(job: str, **fields: Any) -> Submitted:
    return Submitted(request=f"r-{job}", job=job, spec=spec(**{"resources": {"v4": 1}, **fields}))


def failed(job: str, task: int = 0, ready: float = 60.0) -> list[AnyEvent]:
    """The task was tried once, and may start again after so many seconds."""
    at: dict[str, Any] = {"job": job, "task": task, "attempt": 0}
    again = NOON + timedelta(seconds=ready)
    return [
        Started(**at, runner="local", tier=0, workers=1),
        Claimed(**at, worker=0, machine=f"m-{job}-{task}"),
        Gone(**at, worker=0),
        Ended(**at, cause=Cause.CODE, outcome=JobState.PENDING, reason="exit code 1", ready_at=again),
    ]


def started(state: State, inputs: DecisionInputs = OPEN) -> list[tuple[str, int, int]]:
    answer = plan(state, inputs, NOON)
    seats = dict.fromkeys(answer.schedule.starts, ("local", 1))
    events = list(starts(state, answer.schedule, seats, NOON))
    folded(*events, state=state)
    return [(event.job, event.task, event.attempt) for event in events]


def test_nothing_starts_before_any_runner_has_reported() -> None:
    answer = plan(folded(submitted("j")), OPEN, NOON)
    assert not answer.schedule.starts
    assert answer.reasons == {"j": "no runner has reported yet"}


def test_a_runner_without_a_bound_has_reported() -> None:
    assert started(folded(CapacityChanged(runner="local"), submitted("j", project="red")), SHARED) == [("j", 0, 0)]


def test_who_is_no_member_any_more_waits_and_is_told_why() -> None:
    state = folded(FLEET, submitted("j", project="blue"), submitted("k", project="red"))
    answer = plan(state, SHARED, NOON)
    assert [start.job for start in answer.schedule.starts] == ["k"]
    assert answer.reasons["j"] == "alice is not a member of blue; ask for a line in [project_membership]"


def test_what_backs_off_waits_and_says_for_how_long_and_after_what() -> None:
    state = folded(FLEET, submitted("j"), *failed("j"))
    answer = plan(state, OPEN, NOON)
    assert not answer.schedule.starts
    assert answer.reasons["j"] == "tries again in 60 s, after: exit code 1"
    assert answer.again == NOON + timedelta(seconds=60)
    assert plan(state, OPEN, NOON + timedelta(seconds=60)).schedule.starts


def test_the_plan_asks_again_when_the_first_is_ready() -> None:
    state = folded(FLEET, submitted("j"), submitted("k"), *failed("j", ready=90), *failed("k", ready=30))
    assert plan(state, OPEN, NOON).again == NOON + timedelta(seconds=30)


def test_an_array_starts_as_many_as_fit_and_the_interrupted_first() -> None:
    state = folded(FLEET, submitted("j", count=20), *failed("j", 0, ready=0), *failed("j", 1, ready=60))
    assert started(state) == [("j", 0, 1), *(("j", task, 0) for task in range(2, 9))]
    assert plan(state, OPEN, NOON).reasons["j"]


def test_an_array_of_ten_thousand_starts_at_once() -> None:
    state = folded(CapacityChanged(runner="local", resources={"v4": 20_000}), submitted("j", count=10_000))
    assert [task for _, task, _ in started(state)] == list(range(10_000))


def test_an_array_never_starts_a_cancelled_task() -> None:
    state = folded(FLEET, submitted("j", count=4))
    folded(CancelRequested(request="c", user="alice", job="j", task=2), state=state)
    assert [task for _, task, _ in started(state)] == [0, 1, 3]


def test_tasks_that_may_start_now() -> None:
    state = folded(FLEET, submitted("j", count=5), *failed("j", 3, ready=0), *failed("j", 1, ready=5))
    job = state.jobs["j"]
    assert list(waiting_tasks(job, NOON)) == [3, 0, 2, 4]
    assert list(waiting_tasks(job, NOON + 5 * SECOND)) == [1, 3, 0, 2, 4]


def test_what_is_being_stopped_still_holds_its_room() -> None:
    at: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}
    state = folded(FLEET, submitted("j", resources={"v4": 8}), Started(**at, runner="local", tier=0, workers=1))
    folded(Stopping(**at, cause=Cause.PREEMPTED, deadline=NOON, reason=""), submitted("k"), state=state)
    assert started(state) == []


def test_a_borrower_is_stopped_with_its_grace_for_whom_it_was_promised() -> None:
    state = folded(FLEET, submitted("lent", project="red", resources={"v4": 8}, grace_s=40))
    assert started(state, SHARED) == [("lent", 0, 0)]
    folded(submitted("owed", project="blue", user="bob", resources={"v4": 4}), state=state)
    answer = plan(state, SHARED, NOON)
    [event] = stops(state, answer.schedule, NOON)
    assert (event.job, event.attempt, event.for_job) == ("lent", 0, "owed")
    assert (event.cause, event.deadline) == (Cause.PREEMPTED, NOON + timedelta(seconds=40))
    assert "owed" in event.reason or "blue" in event.reason
    folded(event, state=state)
    assert list(state.reclaims) == ["owed"]
    assert list(dropped(state, SHARED)) == []
    away = DecisionInputs(quota=parse('[toml-schema]\nversion = "1"\n[total_resources]\nv4 = 8\n'), config=Config())
    assert [event.job for event in dropped(state, away)] == ["owed"]
    assert list(dropped(state, DecisionInputs(quota=None, config=Config()))) == []


def test_the_answer_becomes_events_in_its_order() -> None:
    state = folded(FLEET, submitted("a", count=2), submitted("b"))
    schedule = Schedule(starts=(Start("a", 0), Start("b", 1), Start("a", 2)))
    seats = dict(zip(schedule.starts, (("near", 3), ("gce", 1), ("far", 2)), strict=True))
    events = list(starts(state, schedule, seats, NOON))
    assert [(event.job, event.task, event.tier, event.runner, event.workers) for event in events] == [
        ("a", 0, 0, "near", 3), ("b", 0, 1, "gce", 1), ("a", 1, 2, "far", 2),
    ]  # fmt: skip
    folded(*events, state=state)
    [stop] = stops(state, Schedule(stops=(Stop("b", 0, None, "why"),)), NOON)
    assert (stop.for_job, stop.reason) == ("", "why")


@pytest.mark.parametrize(
    ("quota", "reported", "capacity"),
    [
        (Quota.open(), {"v4": 4}, {"v4": 4}),
        (Quota(tiers=({"v4": 8},)), {"v4": 4}, {"v4": 4}),
        (Quota(tiers=({"v4": 2},)), {"v4": 4}, {"v4": 2}),
    ],
)
def test_the_pool_is_the_smaller_of_what_is_promised_and_what_is_there(
    quota: Quota, reported: dict[str, int], capacity: dict[str, int]
) -> None:
    state = folded(CapacityChanged(runner="local", resources=reported))
    assert current_capacity(state, DecisionInputs(quota=quota, config=Config())) == Capacity((capacity,))
