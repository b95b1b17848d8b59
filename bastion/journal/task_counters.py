"""Keep the counters of a job: its tasks by state, and whether it has ended. Pure but for what it changes."""

from __future__ import annotations

from ..model.errors import IllegalMove
from ..model.job.alternatives import Alternative
from ..model.state import job_dependencies
from ..model.state.state import ENDED, Job, JobState, State, tally
from . import image_builds


def job_of(state: State, job_id: str) -> Job:
    """Return the job. Raises `IllegalMove` if there is none."""
    if job_id not in state.jobs:
        raise IllegalMove(f"there is no job {job_id}")
    return state.jobs[job_id]


def standing(state: State) -> dict[str, int]:
    """Count the tasks of all jobs that have not ended, by state. This passes over all of these jobs."""
    out: dict[str, int] = {}
    for job_id in {**state.pending, **state.live}:
        for where, number in state.jobs[job_id].counts.items():
            out[where] = out.get(where, 0) + number
    return out


def move(job: Job, number: int, to: JobState) -> None:
    """Set the state of a task, and update the counters of its job."""
    task = job.tasks[number]
    _count(job, task.state, -1)
    _count(job, to, +1)
    task.state = to
    if to is JobState.PENDING:
        job.waiting[number] = None
    else:
        job.waiting.pop(number, None)
    while job.fresh < job.count and job.fresh in job.tasks:
        job.fresh += 1


def choose(job: Job, choice: int) -> None:
    """Set the choice of the job: it holds, or waits for, this shape from now on."""
    if job.choices:
        shape = job.choices[choice]
        job.choice, job.resources, job.replicas = choice, shape.resources, shape.replicas


def shape(job: Job, choice: int) -> Alternative:
    """Return the shape of the attempts of this choice."""
    return job.choices[choice] if job.choices else Alternative(resources=dict(job.resources), replicas=job.replicas)


def close(job: Job, to: JobState) -> None:
    """End all pending tasks of the job with this state."""
    for number in list(job.waiting):
        move(job, number, to)
    untouched = job.counts.get(JobState.PENDING, 0)
    if job.rest is JobState.PENDING:
        job.rest = to
    if untouched:
        _count(job, JobState.PENDING, -untouched)
        _count(job, to, untouched)


def _count(job: Job, state: JobState, change: int) -> None:
    counts = {**job.counts, state: job.counts.get(state, 0) + change}
    job.counts = tally({state: number for state, number in counts.items() if number})


def settle(state: State, job: Job, task: int | None = None) -> None:
    """Update the indexes after a task has moved: pending jobs, ended jobs, and jobs that waited for this end.

    `task` is the task that moved; None: any of them.
    """
    if job.counts.get(JobState.PENDING):
        state.pending[job.id] = None
    else:
        state.pending.pop(job.id, None)
        state.reclaims.pop(job.id, None)
    if job.ended is None and job.counts.keys() <= ENDED:
        job.ended = state.now
        if state.counted:
            state.counted.leave(job.user, job.count)
        job_dependencies.leave(state, job)
        image_builds.leave(state, job)
        job_dependencies.drop_deadline(state, job)
    job_dependencies.settle(state, job, task)
