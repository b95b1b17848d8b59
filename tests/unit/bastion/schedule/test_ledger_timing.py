"""Who did not want to start did not wait: what the ledger counts of jobs that wait for ends and moments."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CancelRequested, Updated
from bastion.schedule.ledger_table import entry_lines
from bastion.schedule.time_integral import Window
from tests.support.world import World
from tests.unit.bastion.schedule.test_ledger import added, at


def waited(world: World, job: str) -> float | None:
    """It starts now. Seconds that it waited, by the journal."""
    world.runs(job)
    lines = entry_lines(added(world, Window(at(0), at(100_000)), "job"), "job")
    return next(line.wait_median_s for line in lines if line.who == job)


def first(world: World, **fields: int) -> str:
    return world.submitted("a" * 32, name="first", **fields)


def test_the_wait_for_a_moment_is_none() -> None:
    world = World()
    job = world.submitted("b" * 32, begin=at(3_600))
    world.clock.now = 3_610
    assert waited(world, job) == 10


def test_the_moment_may_be_moved() -> None:
    world = World()
    job = world.submitted("b" * 32, begin=at(3_600))
    world.clock.now = 100
    world.happens(Updated(request="u", user="alice", job=job, changes=Changes(begin=None)))
    world.clock.now = 130
    assert waited(world, job) == 30


def ends(world: World, job: str) -> None:
    world.ends(world.runs(job), Cause.OK, JobState.SUCCEEDED, code=0)


def is_cancelled(world: World, job: str) -> None:
    world.happens(CancelRequested(request="c", user="alice", job=job))


@pytest.mark.parametrize("end", [ends, is_cancelled])
def test_the_wait_for_anothers_end_is_none(end: Callable[[World, str], None]) -> None:
    world = World()
    one = first(world)
    job = world.submitted("b" * 32, after=[f"any:{one}"])
    world.clock.now = 500
    end(world, one)
    world.clock.now = 507
    assert waited(world, job) == 7


def test_of_an_array_the_task_counts_that_is_named() -> None:
    world = World()
    one = first(world, count=3)
    job = world.submitted("b" * 32)
    world.happens(Updated(request="u", user="alice", job=job, changes=Changes(after=[f"ok:{one}[1]"])))
    for task in (1, 2):
        world.clock.now = task * 100
        world.ends(world.runs(one, task=task), Cause.OK, JobState.SUCCEEDED, code=0)
    assert waited(world, job) == 100
