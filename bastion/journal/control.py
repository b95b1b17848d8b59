"""What people ask of jobs that are there, taken into the state. Pure but for the state it changes."""

from __future__ import annotations

from ..model.audit import Stamp
from ..model.errors import IllegalMove
from ..model.job.spec_changes import Renewal, in_place, merged, said
from ..model.job.start_conditions import conditions
from ..model.state import job_dependencies
from ..model.state.state import Job, State
from ..model.stored.events import Held, Paused, Released, Resumed, Topped, Updated
from . import image_builds
from .task_counters import job_of


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


def topped(state: State, event: Topped, *_at: int) -> None:
    """The job gets the best place of its user's pending jobs of its project and priority, each of them the next one.

    So these jobs have the places among them that they had before, and nobody else's is touched. A pass over all who wait.
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
    """What is decided by changes at once; a new command is known by where in the journal it lies."""
    job = _open(state, event.job)
    values = said(in_place(event.changes))
    if "after" in values and job.id in state.live:
        raise IllegalMove(f"{job.id} runs; it can wait for nobody's end")
    stamp = _consumed(state, event)
    if "after" in values:
        job_dependencies.leave(state, job)
        job_dependencies.enter(state, job, conditions(values.pop("after")))
    if "deadline" in values:
        job_dependencies.set_deadline(state, job, values.pop("deadline"))
    if "begin" in values:
        state.reclaims.pop(job.id, None)
    for name, value in values.items():
        setattr(job, name, value)
    job.share()
    job.changes = merged(job.changes, in_place(event.changes))
    if event.changes.renew:  # with code of its own
        image_builds.leave(state, job)
        job.renewed = Renewal(user=stamp.user, seq=seq, index=index)


def paused(state: State, event: Paused, *_at: int) -> None:
    """Nothing starts any more. Who paused it first is remembered."""
    stamp = _consumed(state, event)
    state.paused = state.paused or stamp


def resumed(state: State, event: Resumed, *_at: int) -> None:
    """Jobs start again."""
    _consumed(state, event)
    state.paused = None


def _alike(other: Job, job: Job) -> bool:
    return other.user == job.user and other.project == job.project and other.priority == job.priority


def _open(state: State, job_id: str) -> Job:
    job = job_of(state, job_id)
    if job.ended is not None:
        raise IllegalMove(f"{job_id} has ended")
    return job


def _consumed(state: State, event: Held | Released | Topped | Updated | Paused | Resumed) -> Stamp:
    """The request has had its effect: who asked, and now."""
    assert state.now is not None
    state.requests[event.request] = state.now
    return Stamp(user=event.user, at=state.now)
