"""Whether somebody's request about a job may have its effect: asked by the client, and by the bastion again. Pure."""

from __future__ import annotations

from msgspec import UNSET

from bastion.changes import Changes
from bastion.plan import Inputs
from bastion.requests import AboutJob, Cancel, Hold, Release, Top, Update
from bastion.spec import JobSpec
from bastion.state import Job, State

VERBS: dict[type[AboutJob], str] = {Cancel: "stop", Hold: "hold", Release: "release", Top: "move", Update: "change"}


def stranger(request: AboutJob, user: str, whose: Job | JobSpec, inputs: Inputs) -> str:
    """Why this user may not ask for it, whatever the job does; empty if they may."""
    if user == whose.user or is_admin(user, inputs):
        return ""
    return f"job {request.job} is {whose.user}'s; only they and admins may {VERBS[type(request)]} it"


def is_admin(user: str, inputs: Inputs) -> bool:
    """True for who may do everything to all jobs."""
    return user in inputs.config.admins


def refusal(request: AboutJob, user: str, state: State, inputs: Inputs) -> str:
    """Why the bastion will not do it; empty if it will. The job has to be known."""
    job = state.jobs[request.job]
    if strange := stranger(request, user, job, inputs):
        return strange
    if isinstance(request, Cancel):
        return _no_task(request, job)
    if job.ended is not None:
        return f"job {job.id} has ended; there is nothing to {VERBS[type(request)]}"
    if isinstance(request, Release):
        return _not_theirs(user, job, inputs)
    if isinstance(request, Top) and job.id not in state.pending:
        return f"job {job.id} does not wait: it has no place that could be better"
    return _too_late(request.changes, job, job.id in state.live) if isinstance(request, Update) else ""


def _no_task(request: Cancel, job: Job) -> str:
    if request.task is None or 0 <= request.task < job.count:
        return ""
    return f"job {job.id} has {job.count} tasks, and no task {request.task}"


def _too_late(changes: Changes, job: Job, runs: bool) -> str:
    """What cannot be changed of a job any more."""
    if job.cancelled_by:
        return f"job {job.id} is being cancelled by {job.cancelled_by}"
    if runs and changes.renew and job.held is not None:
        return (
            f"job {job.id} runs, and is held by {job.held}: it would be stopped and not started again; release it first"
        )
    if runs and not changes.renew and changes.time_limit_s is not UNSET:
        return (
            f"job {job.id} runs, and its worker goes by the time limit it began with; change it with a new command only"
        )
    return ""


def _not_theirs(user: str, job: Job, inputs: Inputs) -> str:
    """What an admin holds, only an admin releases."""
    if job.held is None or job.held.user == job.user or is_admin(user, inputs):
        return ""
    return f"job {job.id} is held by {job.held}; only an admin may release it"
