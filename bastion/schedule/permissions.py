"""Decide whether a user's request about a job may have its effect. Pure.

The client asks before it sends the request, and the bastion asks again.
"""

from __future__ import annotations

from collections.abc import Collection

from msgspec import UNSET

from ..journal.control import why_paused
from ..model.job.spec import JobSpec
from ..model.job.spec_changes import Changes
from ..model.job.start_conditions import conditions, in_order
from ..model.state.job_dependencies import leads_to
from ..model.state.state import Job, State
from ..model.stored.requests import AboutAll, AboutJob, Cancel, Hold, Pause, Release, Top, Update
from .admission import not_granted
from .plan import DecisionInputs
from .runner_choice import places

VERBS: dict[type[AboutJob], str] = {Cancel: "stop", Hold: "hold", Release: "release", Top: "move", Update: "change"}
"""The verb for each kind of request, for messages."""


def stranger(request: AboutJob, user: str, whose: Job | JobSpec, inputs: DecisionInputs) -> str:
    """Say why this user may not ask for it, in whatever state the job is; empty if they may."""
    if user == whose.user or is_admin(user, whose.project, inputs):
        return ""
    return f"job {request.job} belongs to {whose.user}; only {whose.user} and admins may {VERBS[type(request)]} it"


def not_for(user: str, request: AboutAll, admins: Collection[str]) -> str:
    """Say why this user may not ask it of the whole bastion; empty if they may."""
    if user in admins:
        return ""
    verb = "pause" if isinstance(request, Pause) else "resume"
    advice = f"ask one of {', '.join(sorted(admins))}" if admins else "add one to admins in config.toml"
    return f"{user} is not an admin of the bastion, and may not {verb} it; {advice}"


def is_admin(user: str, project: str, inputs: DecisionInputs) -> bool:
    """Return True for admins of the bastion, and for admins of the project."""
    return user in inputs.config.admins or (inputs.quota is not None and inputs.quota.administers(user, project))


def refusal(request: AboutJob, user: str, state: State, inputs: DecisionInputs) -> str:
    """Say why the bastion refuses the request; empty if it accepts it. The job must be in the state."""
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
        return f"job {job.id} is not waiting, so it has no place to move up from"
    return _not_so(request.changes, job, state, inputs) if isinstance(request, Update) else ""


def _no_task(request: Cancel, job: Job) -> str:
    if request.task is None or 0 <= request.task < job.count:
        return ""
    return f"job {job.id} has {job.count} tasks, and no task {request.task}"


def _not_so(changes: Changes, job: Job, state: State, inputs: DecisionInputs) -> str:
    """Say what cannot be changed of a job any more, or not now, or not to this value."""
    if job.cancelled_by:
        return f"job {job.id} is being cancelled by {job.cancelled_by}"
    if job.deadline is not None and state.now is not None and job.deadline <= state.now:
        return f"job {job.id} is past its deadline"
    placed = places(state, inputs.config)
    begin = job.begin if changes.begin is UNSET else changes.begin
    deadline = job.deadline if changes.deadline is UNSET else changes.deadline
    if wrong := next(in_order(begin, deadline), ""):
        return f"job {job.id}: {wrong}"
    if changes.job_class and inputs.quota and not inputs.quota.grants(job.project, changes.job_class):
        return not_granted(job.project, changes.job_class)
    if changes.max_tier is not UNSET:
        shapes = (shape for each in job.choices or [job] for shape in placed.faults(each.resources, changes.max_tier))
        if wrong := next(shapes, ""):
            return f"job {job.id}: {wrong}"
    if changes.after and leads_to(state, conditions(changes.after), job.id):
        return f"job {job.id} would wait for itself, through {', '.join(changes.after)[:200]}"
    return _too_late(changes, job, state) if job.id in state.live else ""


def _too_late(changes: Changes, job: Job, state: State) -> str:
    """Say what cannot be changed while the job runs."""
    if changes.after is not UNSET or changes.begin is not UNSET:
        return f"job {job.id} runs, so it no longer waits to begin; to keep back its other tasks: launch hold {job.id}"
    if not changes.renew:
        limit = "and its worker keeps the time limit that it began with; only a new command can change it"
        return f"job {job.id} runs, {limit}" if changes.time_limit_s is not UNSET else ""
    stays = f"is held by {job.held}" if job.held else why_paused(state) and f"the bastion is {why_paused(state)}"
    return f"job {job.id} runs, and {stays}: it would be stopped and not started again" if stays else ""


def _not_theirs(user: str, job: Job, inputs: DecisionInputs) -> str:
    """Say why this user may not release the job. If an admin holds it, only an admin may."""
    if job.held is None or job.held.user == job.user or is_admin(user, job.project, inputs):
        return ""
    return f"job {job.id} is held by {job.held}; only an admin may release it"
