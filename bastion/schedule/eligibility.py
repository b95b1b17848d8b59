"""Decide how many tasks of a job may start if there is room, and why no more. Pure.

The answer depends on its user and its class, on dependencies, on the time, and on how many tasks may run at once.
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple

from bastion.quota.quota import Quota

from ..journal.control import why_held
from ..model.job.image_ref import log_link
from ..model.job.start_conditions import condition
from ..model.state.state import Job, JobState, State
from ..model.wording import clock
from .admission import not_granted

SHOWN = 3
"""At most this many conditions are named in a line."""


class Obstacle(Enum):
    """The reason why no task of a job may start.

    NONE: there is no such reason.
    HELD: the job is held.
    BARRED: its user or its class may not start jobs in its project.
    BUILD: its image is not built yet.
    AFTER: it waits for other jobs to end, or one of them ended so that it can never start.
    BEGIN: its `begin` time is not reached.
    RETRY: its pending tasks pause before their next try.
    PARALLEL: as many tasks as may run at once hold resources.
    """

    NONE = auto()
    HELD = auto()
    BARRED = auto()
    BUILD = auto()
    AFTER = auto()
    BEGIN = auto()
    RETRY = auto()
    PARALLEL = auto()


class Eligibility(NamedTuple):
    """How much of a job may start now.

    tasks: how many of its tasks may start now.
    bar: why none may start; NONE if `tasks` is above 0.
    until: when time alone changes the answer next; None if it never does.
    """

    tasks: int
    bar: Obstacle
    until: datetime | None


def eligibility_of(state: State, job: Job, quota: Quota, now: datetime) -> Eligibility:
    """Return how many of the job's pending tasks may start now.

    The answer depends on the job, its live tasks, the quota file and the time. Of other jobs it depends only on those
    whose ends the job waits for. When such a job ends, its events change `Job.after` of the jobs that
    `State.dependents` names.
    """
    count = job.counts.get(JobState.PENDING, 0)
    if job.held is not None:
        return Eligibility(0, Obstacle.HELD, None)
    if not admitted(quota, job):
        return Eligibility(0, Obstacle.BARRED, None)
    if job.build:
        return Eligibility(0, Obstacle.BUILD, None)
    if job.after or job.id in state.doomed:
        return Eligibility(0, Obstacle.AFTER, None)
    if job.begin is not None and job.begin > now:
        return Eligibility(0, Obstacle.BEGIN, job.begin)
    until = None
    if job.waiting:  # most jobs have not begun
        later = [at for number in job.waiting if (at := job.tasks[number].ready_at) and at > now]
        until, count = min(later, default=None), count - len(later)
    if count <= 0:
        return Eligibility(0, Obstacle.RETRY, until)
    if job.max_parallel is not None:
        count = min(count, job.max_parallel - len(state.live.get(job.id, ())))
    return Eligibility(count, Obstacle.NONE, until) if count > 0 else Eligibility(0, Obstacle.PARALLEL, until)


def admitted(quota: Quota, job: Job) -> bool:
    """Return True if the quota file lets the job's user and class start jobs in its project."""
    return quota.admits(job.user, job.project) and quota.grants(job.project, job.job_class)


def reason(state: State, job: Job, shut: Eligibility, quota: Quota, now: datetime) -> str:
    """Say in one line why no task of the job may start."""
    match shut.bar:
        case Obstacle.HELD:
            return why_held(job)
        case Obstacle.BARRED if not quota.admits(job.user, job.project):
            return f"{job.user} is not a member of {job.project}; ask for a line in [project_membership]"
        case Obstacle.BARRED:
            return f"{not_granted(job.project, job.job_class)}, or launch update {job.id} --class=standard"
        case Obstacle.BUILD:
            return f"waits for its image to be built: {log_link(job.build)}"
        case Obstacle.AFTER:
            return _after(state, job)
        case Obstacle.BEGIN:
            return f"begins at {clock(shut.until or now, now)}"
        case Obstacle.RETRY:
            return f"tries again in {((shut.until or now) - now).total_seconds():.0f} s, after: {job.reason}"
        case Obstacle.PARALLEL:
            live = len(state.live.get(job.id, ()))
            return f"{live} of at most {job.max_parallel} tasks at once hold resources"
    return ""


def _after(state: State, job: Job) -> str:
    texts = job.after or (state.doomed[job.id],)
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return f"waits for {', '.join(_now(state, text) for text in texts[:SHOWN])}{more}"


def _now(state: State, text: str) -> str:
    """Return a condition with the state of its job now, as in `ok:prep-0d4af07e (RUNNING)`."""
    wanted = condition(text)
    job = state.jobs.get(wanted.job) if wanted else None
    if wanted is None or job is None:
        return text
    return f"{text} ({job.state if wanted.task is None else job.task_state(wanted.task)})"
