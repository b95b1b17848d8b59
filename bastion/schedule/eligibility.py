"""What may start of a job, were there room for it: by its user, by what it waits for, by the time, and how many at once. Pure."""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple

from bastion.quota.quota import Quota

from ..model.job.image_ref import log_link
from ..model.job.start_conditions import condition
from ..model.state.state import Job, JobState, State
from ..model.wording import clock
from .admission import not_granted

SHOWN = 3
"""So many conditions are named in a line."""


class Obstacle(Enum):
    """What keeps a job's tasks back."""

    NONE = auto()
    HELD = auto()
    BARRED = auto()
    BUILD = auto()
    AFTER = auto()
    BEGIN = auto()
    RETRY = auto()
    PARALLEL = auto()


class Eligibility(NamedTuple):
    """`tasks` may start now; if none may, `bar` says why. `until`: when time alone changes that; None if it never does."""

    tasks: int
    bar: Obstacle
    until: datetime | None


def gate(state: State, job: Job, quota: Quota, now: datetime) -> Eligibility:
    """How many of the job's waiting tasks may start now.

    It rests on the job, its live tasks, the quota file and the time; of other jobs only on those whose ends it waits for.
    Their events change `Job.after` of those that `State.dependents` names.
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
    """The quota file lets its user and its class start jobs in its project."""
    return quota.admits(job.user, job.project) and quota.grants(job.project, job.job_class)


def reason(state: State, job: Job, shut: Eligibility, quota: Quota, now: datetime) -> str:
    """Why nothing of the job may start, in a line."""
    match shut.bar:
        case Obstacle.HELD:
            return held(job)
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


def held(job: Job) -> str:
    """Why a held job does not start."""
    return f"held by {job.held}; launch release {job.id} lets it start"


def _after(state: State, job: Job) -> str:
    texts = job.after or (state.doomed[job.id],)
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return f"waits for {', '.join(_now(state, text) for text in texts[:SHOWN])}{more}"


def _now(state: State, text: str) -> str:
    """`ok:prep-0d4af07e (RUNNING)`."""
    wanted = condition(text)
    job = state.jobs.get(wanted.job) if wanted else None
    if wanted is None or job is None:
        return text
    return f"{text} ({job.state if wanted.task is None else job.task_state(wanted.task)})"
