"""Of each stop: who asked, in which words, what it cost in units times hours, and how often it happened before."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from bastion.launcher.explain.preemptions import PreemptedAttempt, stopped
from bastion.launcher.explain.what_if_decision import JobReference
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import Forgotten, Stopping
from tests.support.world import World

WHY = (
    "reclaimed for vision/poor (bob): nlp borrowed 2 v4 over its share of 4; the cheapest to stop of 7, it loses 12 min"
)


def stops(world: World, task: int | None = None) -> list[PreemptedAttempt]:
    return list(stopped(world.journal.state, world.journal.state.jobs["llm-aaaaaaaa"], task))


def preempt(world: World, by: str, *, task: int = 0, attempt: int = 0, lost_s: float | None = 720.0) -> None:
    """It is asked to end 40 seconds before its deadline, and does after 10."""
    key = world.runs("llm-aaaaaaaa", task=task, attempt=attempt)
    world.clock.now += 1_000
    at: dict[str, Any] = {"job": key.job, "task": task, "attempt": attempt, "cause": Cause.PREEMPTED, "reason": WHY}
    world.happens(Stopping(**at, deadline=world.clock.wall() + timedelta(seconds=40), for_job=by, lost_s=lost_s))
    world.clock.now += 10
    world.ends(key, Cause.PREEMPTED, JobState.PENDING, reason=WHY)


@pytest.fixture
def world() -> World:
    """Somebody's array, and a job that waits for its room."""
    made = World()
    made.submitted("a" * 32, name="llm", project="nlp", resources={"v4": 3}, replicas=2, count=2, grace_s=40)
    made.submitted("b" * 32, name="poor", user="bob", project="vision", resources={"v4": 4})
    return made


def test_a_stop_says_who_asked_why_and_what_it_cost(world: World) -> None:
    preempt(world, "poor-bbbbbbbb")

    [stop] = stops(world)

    assert stop.by == JobReference(job="poor-bbbbbbbb", user="bob", project="vision")
    assert (stop.task, stop.attempt, stop.why, stop.before) == (0, 0, WHY, 0)
    assert (stop.lost_s, stop.lost) == (720, {"v4": 1.2})
    assert stop.ended == world.clock.wall()
    assert stop.at == world.clock.wall() - timedelta(seconds=10)


def test_each_task_counts_its_own_stops(world: World) -> None:
    preempt(world, "poor-bbbbbbbb")
    preempt(world, "poor-bbbbbbbb", attempt=1)
    preempt(world, "poor-bbbbbbbb", task=1)

    assert [(stop.task, stop.attempt, stop.before) for stop in stops(world)] == [(0, 0, 0), (0, 1, 1), (1, 0, 0)]
    assert [(stop.task, stop.attempt) for stop in stops(world, task=1)] == [(1, 0)]


def test_what_was_not_counted_is_not_told(world: World) -> None:
    preempt(world, "poor-bbbbbbbb", lost_s=None)

    [stop] = stops(world)
    assert (stop.lost_s, stop.lost) == (None, None)


def test_a_stop_for_nobodys_sake_names_nobody_and_so_does_one_for_a_job_that_is_forgotten(world: World) -> None:
    preempt(world, "")
    preempt(world, "poor-bbbbbbbb", attempt=1)
    world.ends(world.runs("poor-bbbbbbbb"), Cause.OK, JobState.SUCCEEDED, code=0)
    world.happens(Forgotten(jobs=["poor-bbbbbbbb"]))

    assert [stop.by for stop in stops(world)] == [None, None]


def test_other_ends_are_no_stops(world: World) -> None:
    world.ends(world.runs("llm-aaaaaaaa"), Cause.LOST, JobState.PENDING, reason="lost")

    assert stops(world) == []
