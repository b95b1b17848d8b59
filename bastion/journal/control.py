"""Apply the requests about existing jobs, and pause and resume, to the state. Pure but for the state it changes.

It also says, in a line, who holds a job and who paused the bastion.
"""

from __future__ import annotations

from ..model.codec import AuditEntry
from ..model.errors import IllegalMove
from ..model.job.spec_changes import Renewal, in_place, merged, said
from ..model.job.start_conditions import conditions
from ..model.state import job_dependencies
from ..model.state.state import Job, State
from ..model.stored.events import Held, Paused, Released, Resumed, Topped, Updated
from . import recent_usage
from .attempts import job_of, leave_build


def held(state: State, event: Held, *_at: int) -> None:
    """Hold the job: nothing more of it starts, and nothing is kept free for it.

    An admin's hold replaces one by the job's own user, so that only an admin can release it.
    """
    job = _open(state, event.job)
    stamp = _consumed(state, event)
    if job.held is None or (job.held.user == job.user and event.user != job.user):
        job.held = stamp
    state.reclaims.pop(job.id, None)


def released(state: State, event: Released, *_at: int) -> None:
    """Release the job into its old place.

    It counts as waiting only from now on. So other jobs get time again to end by themselves before they are stopped for
    it.
    """
    job = _open(state, event.job)
    stamp = _consumed(state, event)
    if job.held is not None:
        job.held, job.since = None, stamp.at


def topped(state: State, event: Topped, *_at: int) -> None:
    """Give the job the best place among its user's pending jobs of the same project and priority.

    Each of the others moves back by one. Together they keep the places that they had, and no other job's place changes.
    This passes over all pending jobs.
    """
    job = _open(state, event.job)
    if job.id not in state.pending:
        raise IllegalMove(f"{job.id} does not wait")
    _consumed(state, event)
    waiting = (state.jobs[name] for name in state.pending)
    line = sorted((other for other in waiting if _alike(other, job)), key=lambda other: other.order)
    places = [other.order for other in line]
    line.sort(key=lambda other: other is not job)
    for other, place in zip(line, places, strict=True):
        if other.order != place:
            other.place = place


def updated(state: State, event: Updated, seq: int, index: int) -> None:
    """Apply the changes at once. For a new command, only its place in the journal is stored."""
    job = _open(state, event.job)
    values = said(in_place(event.changes))
    if "after" in values and job.id in state.live:
        raise IllegalMove(f"{job.id} runs; it cannot wait for another job any more")
    stamp = _consumed(state, event)
    if "after" in values:
        job_dependencies.leave(state, job)
        job_dependencies.enter(state, job, conditions(values.pop("after")))
    if "deadline" in values:
        job_dependencies.set_deadline(state, job, values.pop("deadline"))
    if "begin" in values:  # nothing is kept free for a job that may begin later
        state.reclaims.pop(job.id, None)
    recent_usage.change(state, job, values)
    job.share()
    job.changes = merged(job.changes, in_place(event.changes))
    if event.changes.renew:  # it brings code of its own, so the build of the old image does not matter any more
        leave_build(state, job)
        job.renewed = Renewal(user=stamp.user, seq=seq, index=index)


def paused(state: State, event: Paused, *_at: int) -> None:
    """Stop starting jobs. The first user who paused is remembered."""
    stamp = _consumed(state, event)
    state.paused = state.paused or stamp


def resumed(state: State, event: Resumed, *_at: int) -> None:
    """Start jobs again."""
    _consumed(state, event)
    state.paused = None


def why_held(job: Job) -> str:
    """Say why a held job does not start."""
    return f"held by {job.held}; launch release {job.id} lets it start"


def why_paused(state: State) -> str:
    """Say why nothing starts while the bastion is paused; empty if it is not."""
    return f"paused by {state.paused}" if state.paused else ""


def _alike(other: Job, job: Job) -> bool:
    return other.user == job.user and other.project == job.project and other.priority == job.priority


def _open(state: State, job_id: str) -> Job:
    job = job_of(state, job_id)
    if job.ended is not None:
        raise IllegalMove(f"{job_id} has ended")
    return job


def _consumed(state: State, event: Held | Released | Topped | Updated | Paused | Resumed) -> AuditEntry:
    """Mark the request as done, and return who asked for it and when."""
    assert state.now is not None
    state.requests[event.request] = state.now
    return AuditEntry(user=event.user, at=state.now)
