"""State is the fold of the journal: one event after the other, each a small change. Pure but for the state it changes."""

from __future__ import annotations

from collections.abc import Callable

from bastion import attempts, control
from bastion.books import close_rest, job_of, move, settle
from bastion.errors import BastionError, IllegalMove
from bastion.events import (
    AnyEvent,
    CancelRequested,
    CapacityChanged,
    Claimed,
    Ended,
    Epoch,
    Exited,
    FileBroken,
    FileChanged,
    Forgotten,
    Gone,
    Held,
    Illegal,
    JobRejected,
    JournalObject,
    Paused,
    ReclaimDropped,
    Released,
    RequestRejected,
    Resumed,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
)
from bastion.state import File, Job, JobState, State, Task

MARKS_MAX = 1_000


def fold(state: State, record: JournalObject, *, lenient: bool = False) -> None:
    """Take one journal object into the state. Raises `BastionError` if it is not the next one.

    `lenient`: leave out what does not fit, for something before it is missing. Never for who decides.
    """
    if record.seq != state.seq:
        raise BastionError(f"journal object {record.seq} does not follow; expected {state.seq}")
    state.now = record.now
    for index, event in enumerate(record.events):
        try:
            apply(state, event, record.seq, index)
        except IllegalMove:
            if not lenient:
                raise
    state.seq += 1


def apply(state: State, event: AnyEvent, seq: int, index: int) -> None:
    """Take one event into the state; (seq, index) is its place in the journal. Raises `IllegalMove`, changing nothing."""
    _APPLY[type(event)](state, event, seq, index)
    for job_id in concerned(event):
        job = state.jobs.get(job_id)
        if job is not None and seq > (job.later[-1] if job.later else job.seq):
            job.later += (seq,)


def concerned(event: AnyEvent) -> tuple[str, ...]:
    """The ids of the jobs whose history an event belongs to: whom it is about, and for whose sake it happens."""
    if isinstance(event, Stopping) and event.for_job:
        return event.job, event.for_job
    job = getattr(event, "job", "")
    return (job,) if job else ()


def _mark(state: State, what: str, seq: int) -> None:
    known = state.marks.get(what, ())
    if not known or known[-1] < seq:
        state.marks[what] = (*known, seq)[-MARKS_MAX:]


def _epoch(state: State, event: Epoch, *_at: int) -> None:
    state.epoch = event.epoch


def _file_changed(state: State, event: FileChanged, seq: int, *_at: int) -> None:
    state.files[event.file] = File(version=event.version, text=event.text)
    _mark(state, event.file, seq)


def _file_broken(state: State, event: FileBroken, seq: int, *_at: int) -> None:
    text = state.files[event.file].text if event.file in state.files else None
    state.files[event.file] = File(version=event.version, text=text, problem=event.problem)
    _mark(state, event.file, seq)


def _capacity_changed(state: State, event: CapacityChanged, seq: int, *_at: int) -> None:
    state.capacity[event.runner] = event.resources
    _mark(state, "capacity", seq)


def _submitted(state: State, event: Submitted, seq: int, index: int) -> None:
    spec = event.spec
    _new(state, event.job)
    assert state.now is not None
    state.requests[event.request] = state.now
    state.pending[event.job] = None
    state.jobs[event.job] = Job(
        id=event.job,
        name=spec.name,
        user=spec.user,
        project=spec.project,
        priority=spec.priority,
        resources=spec.resources,
        replicas=spec.replicas,
        count=spec.count,
        max_tries=spec.max_tries,
        retry_interval_s=spec.retry_interval_s,
        grace_s=spec.grace_s,
        seq=seq,
        index=index,
        request=event.request,
        submitted=state.now,
        since=state.now,
        time_limit_s=spec.time_limit_s,
        counts={JobState.PENDING: spec.count},
    )


def _job_rejected(state: State, event: JobRejected, seq: int, index: int) -> None:
    _new(state, event.job)
    assert state.now is not None
    state.requests[event.request] = state.now
    state.jobs[event.job] = Job(
        id=event.job,
        name=event.name,
        user=event.user,
        project=event.project,
        priority=5,
        resources={},
        replicas=1,
        count=1,
        max_tries=1,
        retry_interval_s=0,
        grace_s=0,
        seq=seq,
        index=index,
        request=event.request,
        submitted=state.now,
        since=state.now,
        rest=JobState.REJECTED,
        counts={JobState.REJECTED: 1},
        reason=event.reason,
        ended=state.now,
    )


def _request_rejected(state: State, event: RequestRejected, *_at: int) -> None:
    assert state.now is not None
    state.requests[event.request] = state.now


def _cancel_requested(state: State, event: CancelRequested, *_at: int) -> None:
    assert state.now is not None
    state.requests[event.request] = state.now
    job = state.jobs.get(event.job)
    if job is None or job.ended:
        return
    if event.task is None:
        job.cancelled_by = job.cancelled_by or event.user
        close_rest(job)
        for number in list(job.waiting):
            move(job, number, JobState.CANCELLED)
        numbers = list(state.live.get(job.id, ()))
    elif event.task in job.tasks or (0 <= event.task < job.count and job.rest is JobState.PENDING):
        task = job.tasks.setdefault(event.task, Task())
        task.cancel = True
        if task.state is JobState.PENDING:
            move(job, event.task, JobState.CANCELLED)
        numbers = [event.task] if task.live else []
    else:
        numbers = []
    for number in numbers:
        if job.tasks[number].state is JobState.PREEMPTING:
            move(job, number, JobState.CANCELLING)
    settle(state, job)


def _reclaim_dropped(state: State, event: ReclaimDropped, *_at: int) -> None:
    state.reclaims.pop(event.job, None)


def _forgotten(state: State, event: Forgotten, *_at: int) -> None:
    for job_id in event.jobs:
        if job_of(state, job_id).ended is None:
            raise IllegalMove(f"{job_id} has not ended; it cannot be forgotten")
    for job_id in event.jobs:
        ended = state.jobs.pop(job_id).ended
        assert ended is not None
        state.forgotten = max(ended, state.forgotten or ended)
    for request in event.requests:
        state.requests.pop(request, None)


def _illegal(_state: State, _event: Illegal, *_at: int) -> None:
    """Only written down."""


def _new(state: State, job_id: str) -> None:
    if job_id in state.jobs:
        raise IllegalMove(f"job {job_id} is there already")


_APPLY: dict[type, Callable[..., None]] = {
    Epoch: _epoch,
    FileChanged: _file_changed,
    FileBroken: _file_broken,
    CapacityChanged: _capacity_changed,
    Submitted: _submitted,
    JobRejected: _job_rejected,
    RequestRejected: _request_rejected,
    CancelRequested: _cancel_requested,
    Held: control.held,
    Released: control.released,
    Topped: control.topped,
    Updated: control.updated,
    Paused: control.paused,
    Resumed: control.resumed,
    Started: attempts.started,
    Claimed: attempts.claimed,
    Voided: attempts.voided,
    Exited: attempts.exited,
    Gone: attempts.gone,
    Stopping: attempts.stopping,
    Ended: attempts.ended,
    ReclaimDropped: _reclaim_dropped,
    Forgotten: _forgotten,
    Illegal: _illegal,
}
