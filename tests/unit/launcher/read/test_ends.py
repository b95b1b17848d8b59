"""How a job ended is the exit code of whoever waited for it."""

from __future__ import annotations

import pytest

from bastion.launcher.read import exit_codes
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CancelRequested, JobRejected
from tests.support.world import World


@pytest.mark.parametrize(
    ("cause", "outcome", "code", "expected"),
    [
        (Cause.OK, JobState.SUCCEEDED, 0, 0),
        (Cause.CODE, JobState.FAILED, 3, 3),
        (Cause.CODE, JobState.FAILED, 99, 99),
        (Cause.CODE, JobState.FAILED, 100, 100),
        (Cause.CODE, JobState.FAILED, 255, 100),
        (Cause.SIGNAL, JobState.FAILED, 139, 100),
        (Cause.OOM, JobState.FAILED, 137, 100),
        (Cause.SETUP, JobState.FAILED, 7, 100),
        (Cause.LOST, JobState.FAILED, None, 100),
        (Cause.TIME_LIMIT, JobState.TIMEOUT, 143, 124),
        (Cause.CANCELLED, JobState.CANCELLED, 143, 103),
        (Cause.PREEMPTED, JobState.PENDING, 143, 101),
    ],
)
def test_each_end_has_its_code(cause: Cause, outcome: JobState, code: int | None, expected: int) -> None:
    world = World()
    job = world.submitted()
    world.ends(world.runs(job), cause, outcome, code=code)

    state = world.look().state

    assert exit_codes.code(state.jobs[job], None) == expected
    assert exit_codes.code(state.jobs[job], 0) == expected
    assert exit_codes.ended(state.jobs[job], None) == (expected != exit_codes.NOT_ENDED)


def test_a_rejected_job_has_its_own_code() -> None:
    world = World()
    world.happens(JobRejected(request="r", job="j-r", name="j", user="a", project="p", reason="no"))

    assert exit_codes.code(world.look().state.jobs["j-r"], None) == 104


def test_a_job_that_was_cancelled_before_it_began_is_cancelled() -> None:
    world = World()
    job = world.submitted(count=5)
    world.happens(CancelRequested(request="c", user="alice", job=job))

    assert exit_codes.code(world.look().state.jobs[job], None) == 103
    assert exit_codes.code(world.look().state.jobs[job], 4) == 103


def test_tasks_that_failed_alike_share_their_code() -> None:
    world = World()
    job = world.submitted(count=3)
    for task, code in enumerate((3, 3, 0)):
        outcome = JobState.FAILED if code else JobState.SUCCEEDED
        world.ends(world.runs(job, task=task), Cause.CODE if code else Cause.OK, outcome, code=code)

    assert exit_codes.code(world.look().state.jobs[job], None) == 3


def test_tasks_that_failed_differently_have_none() -> None:
    world = World()
    job = world.submitted(count=2)
    for task, code in enumerate((3, 4)):
        world.ends(world.runs(job, task=task), Cause.CODE, JobState.FAILED, code=code)

    job_now = world.look().state.jobs[job]

    assert exit_codes.code(job_now, None) == 100
    assert [exit_codes.code(job_now, task) for task in (0, 1)] == [3, 4]
