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
    ReclaimDropped,
    Released,
    RequestRejected,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
)
from bastion.state import File, Job, JobState, State, Task


def fold(state: State, record: JournalObject) -> None:
    """Take one journal object into the state. Raises `BastionError` if it is not the next one."""
    if record.seq != state.seq:
        raise BastionError(f"journal object {record.seq} does not follow; expected {state.seq}")
    state.now = record.now
    for index, event in enumerate(record.events):
        apply(state, event, record.seq, index)
    state.seq += 1


def apply(state: State, event: AnyEvent, seq: int, index: int) -> None:
    """Take one event into the state; (seq, index) is its place in the journal. Raises `IllegalMove`, changing nothing."""
    _APPLY[type(event)](state, event, seq, index)


def _epoch(state: State, event: Epoch, *_at: int) -> None:
    state.epoch = event.epoch


def _file_changed(state: State, event: FileChanged, *_at: int) -> None:
    state.files[event.file] = File(version=event.version, text=event.text)


def _file_broken(state: State, event: FileBroken, *_at: int) -> None:
    text = state.files[event.file].text if event.file in state.files else None
    state.files[event.file] = File(version=event.version, text=text, problem=event.problem)


def _capacity_changed(state: State, event: CapacityChanged, *_at: int) -> None:
    state.capacity[event.runner] = event.resources


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
        del state.jobs[job_id]
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
