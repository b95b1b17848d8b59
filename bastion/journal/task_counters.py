"""The books of a job: how many tasks stand where, who waits, whether it has ended. Pure but for what it changes."""

from __future__ import annotations

from ..model.errors import IllegalMove
from ..model.job.alternatives import Alternative
from ..model.state import job_dependencies
from ..model.state.state import ENDED, Job, JobState, State, tally
from . import image_builds


def job_of(state: State, job_id: str) -> Job:
    """The job. Raises `IllegalMove` if there is none."""
    if job_id not in state.jobs:
        raise IllegalMove(f"there is no job {job_id}")
    return state.jobs[job_id]


def standing(state: State) -> dict[str, int]:
    """How many tasks of jobs that have not ended stand where. A pass over all of these jobs."""
    out: dict[str, int] = {}
    for job_id in {**state.pending, **state.live}:
        for where, number in state.jobs[job_id].counts.items():
            out[where] = out.get(where, 0) + number
    return out


def move(job: Job, number: int, to: JobState) -> None:
    """Set a task's state, keeping the books of its job."""
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
    """What the job holds, or waits for, is from here on of this choice."""
    if job.choices:
        shape = job.choices[choice]
        job.choice, job.resources, job.replicas = choice, shape.resources, shape.replicas


def shape(job: Job, choice: int) -> Alternative:
    """What attempts of this choice are, or were."""
    return job.choices[choice] if job.choices else Alternative(resources=dict(job.resources), replicas=job.replicas)


def close(job: Job, to: JobState) -> None:
    """End the tasks that wait."""
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
    """Keep the indices: who has waiting tasks, whether the job has ended, who waited for that. None: any task was moved."""
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
