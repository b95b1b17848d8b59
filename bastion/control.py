"""What people ask of jobs that are there, taken into the state. Pure but for the state it changes."""

from __future__ import annotations

from bastion.books import job_of
from bastion.errors import IllegalMove
from bastion.events import Held, Released
from bastion.state import Job, Stamp, State


def held(state: State, event: Held, *_at: int) -> None:
    """Nothing more of the job starts, and nothing is kept free for it. What its user holds, an admin can hold harder."""
    job = _open(state, event.job)
    stamp = _consumed(state, event)
    if job.held is None or (job.held.user == job.user and event.user != job.user):
        job.held = stamp
    state.reclaims.pop(job.id, None)


def released(state: State, event: Released, *_at: int) -> None:
    """The job is back in its old place; others are given anew the time to end by themselves before they are stopped for it."""
    job = _open(state, event.job)
    stamp = _consumed(state, event)
    if job.held is not None:
        job.held, job.since = None, stamp.at


def _open(state: State, job_id: str) -> Job:
    job = job_of(state, job_id)
    if job.ended is not None:
        raise IllegalMove(f"{job_id} has ended")
    return job


def _consumed(state: State, event: Held | Released) -> Stamp:
    """The request has had its effect: who asked, and now."""
    assert state.now is not None
    state.requests[event.request] = state.now
    return Stamp(user=event.user, at=state.now)
