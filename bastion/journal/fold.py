"""Fold the journal into the state: one event after another, each a small change. Pure but for the state it changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from ..model.errors import BastionError, IllegalMove, RecordError
from ..model.job.spec import kept
from ..model.job.start_conditions import conditions
from ..model.state import job_dependencies
from ..model.state.admin_file_status import AdminFileStatus
from ..model.state.state import ENDED, Job, JobState, State, Task
from ..model.state.transitions import MOVES
from ..model.state.unreachable import Unreachable
from ..model.state.user_counters import DailyBytes
from ..model.stored.events import (
    AnyEvent,
    AttemptLost,
    CancelRequested,
    CapacityChanged,
    Claimed,
    Decided,
    Ended,
    Epoch,
    Exited,
    FileBroken,
    FileChanged,
    Forgotten,
    Gone,
    Held,
    Illegal,
    ImageBuilt,
    JobRejected,
    Lapsed,
    LossAccepted,
    Moved,
    Paused,
    ReclaimDropped,
    Released,
    RequestRejected,
    RequestsDropped,
    Resumed,
    Saved,
    SightChanged,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
    Waiting,
)
from ..model.stored.journal_object import JournalObject, broken_link
from . import attempts, control, recent_usage
from .attempts import await_build, built, close, job_of, move, settle

PLANNED = frozenset({"begin", "deadlines"})
"""Times that users chose. These may lie in the future."""

MARKS_MAX = 1_000
"""At most this many newest journal numbers are kept for each of `State.marks`."""
_NONSENSE = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)
"""The errors of applying an event whose fields have the right types, but values that make no sense together."""


def fold(state: State, record: JournalObject, digest: str = "", *, lenient: bool = False) -> None:
    """Apply one journal object to the state.

    Raises `BastionError` if it is not the next object, or if no bastion could have written it. `digest` is the digest
    of its bytes; without it the next object cannot be checked against this one. `lenient` leaves out events that do not
    fit because something before them is missing. A bastion that decides never uses it.
    """
    if record.seq != state.seq:
        raise BastionError(f"journal object {record.seq} does not follow; expected {state.seq}")
    if not lenient and (problem := broken_link(record.seq, record.prev, state.head, chained=state.chained)):
        raise RecordError(problem)
    state.now = record.now
    for index, event in enumerate(record.events):
        try:
            apply(state, event, record.seq, index)
        except IllegalMove:
            if not lenient:
                raise
        except _NONSENSE as error:  # every field has its type, but the values do not fit each other
            if not lenient:
                name = type(event).__name__
                raise RecordError(f"journal object {record.seq} cannot be used: its {name} makes no sense") from error
    state.seq += 1
    follow(state, record.prev, digest)


def follow(state: State, prev: str, digest: str) -> None:
    """Enter the digest of the newest object, and that it names the one before it, as `prev`."""
    state.head, state.chained = digest, state.chained or bool(prev)


def apply(state: State, event: AnyEvent, seq: int, index: int) -> None:
    """Apply one event to the state; (`seq`, `index`) is its place in the journal.

    Raises `IllegalMove` and then changes nothing.
    """
    _APPLY[type(event)](state, event, seq, index)
    _count(state, event)
    for job_id in concerned(event):
        job = state.jobs.get(job_id)
        if job is not None and seq > (job.later[-1] if job.later else job.seq):
            job.later += (seq,)


def _count(state: State, event: Any) -> None:
    """Count the bytes of the request behind this event, for the user who wrote it.

    That can be another user than the one whose inbox it was in.
    """
    size = getattr(event, "size", None)
    if size is None:  # no request caused this event
        return
    user = event.request.partition("/")[0]
    writer = event.user if isinstance(event, RequestRejected) else user
    if size or writer != user:
        assert state.now is not None
        state.sent = state.sent or DailyBytes()
        state.sent.add(event.request, writer, size, state.now)


def concerned(event: AnyEvent) -> tuple[str, ...]:
    """Return the ids of the jobs in whose history an event belongs: its own job, and the job for which it happens.

    Checkpoints are left out. Some jobs write many, and a reader of the job's history would have to read them all.
    """
    if isinstance(event, Saved):
        return ()
    if isinstance(event, Stopping) and event.for_job:
        return event.job, event.for_job
    job = getattr(event, "job", "")
    return (job,) if job else ()


def _mark(state: State, what: str, seq: int) -> None:
    known = state.marks.get(what, ())
    if not known or known[-1] < seq:
        state.marks[what] = (*known, seq)[-MARKS_MAX:]


def _epoch(state: State, event: Epoch, *_at: int) -> None:
    state.epoch, state.version = event.epoch, event.version
    if event.healed_by:
        _heal(state)


def _heal(state: State) -> None:
    """Move every time in the state that lies after `state.now` back to it. A job's own --begin and --deadline stay."""
    assert state.now is not None
    for job in state.jobs.values():
        # Attempts have a `deadline` too, and that may not lie ahead. So only the job's own is put back.
        deadline = job.deadline
        _clamp(job, state.now)
        job.deadline = deadline
    kept = state.deadlines
    for name in state.__struct_fields__:
        if name != "jobs":
            setattr(state, name, _clamped(getattr(state, name), state.now))
    state.deadlines = kept


def _clamp(value: Any, now: datetime) -> None:
    for name in value.__struct_fields__:
        if name not in PLANNED:
            setattr(value, name, _clamped(getattr(value, name), now))


def _clamped(value: Any, now: datetime) -> Any:
    """Return the value without any time after `now`. Containers and structs that hold one are changed or made anew."""
    if isinstance(value, datetime):
        return min(value, now)
    if isinstance(value, dict):
        return {key: _clamped(each, now) for key, each in value.items()}
    if isinstance(value, list):
        return [_clamped(each, now) for each in value]
    if isinstance(value, msgspec.Struct):
        if not value.__struct_config__.frozen:
            _clamp(value, now)
        elif any(isinstance(getattr(value, name), datetime) for name in value.__struct_fields__):
            changed = {name: _clamped(getattr(value, name), now) for name in value.__struct_fields__}
            return msgspec.structs.replace(value, **changed)
    return value


def _file_changed(state: State, event: FileChanged, seq: int, *_at: int) -> None:
    if event.file == "config":  # before the file changes: usage up to now decays by the old half-life
        recent_usage.apply_settings(state, event.text)
    state.files[event.file] = AdminFileStatus(version=event.version, text=event.text)
    _mark(state, event.file, seq)


def _file_broken(state: State, event: FileBroken, seq: int, *_at: int) -> None:
    text = state.files[event.file].text if event.file in state.files else None
    state.files[event.file] = AdminFileStatus(version=event.version, text=text, problem=event.problem)
    _mark(state, event.file, seq)


def _capacity_changed(state: State, event: CapacityChanged, seq: int, *_at: int) -> None:
    state.capacity[event.runner] = event.resources
    state.offers.pop(event.runner, None)
    if event.offers is not None:
        state.offers[event.runner] = event.offers
    _mark(state, "capacity", seq)


def _sight_changed(state: State, event: SightChanged, *_at: int) -> None:
    """Mark the runner as unreachable, with the new error; or as reachable again."""
    known = state.blind.pop(event.runner, None)
    if event.why:
        assert state.now is not None
        since = known.since if known else state.now
        state.blind[event.runner] = Unreachable(since=since, heard=state.now, why=event.why)


def _submitted(state: State, event: Submitted, seq: int, index: int) -> None:
    spec = event.spec
    _new(state, event.job)
    assert state.now is not None
    state.requests[event.request] = state.now
    state.pending[event.job] = None
    state.jobs[event.job] = job = Job(
        **kept(spec) | {"deadline": None},  # `set_deadline` sets it, and keeps the index
        id=event.job,
        resources=spec.resources,
        replicas=spec.replicas,
        seq=seq,
        index=index,
        request=event.request,
        submitted=state.now,
        since=state.now,
        asked=event.at,
        choices=spec.choices if spec.alternatives else (),
        counts={JobState.PENDING: spec.count},
    )
    if state.counted:
        state.counted.enter(job.user, job.count)
    job_dependencies.enter(state, job, conditions(spec.after))
    await_build(state, job, spec.bundle)
    job_dependencies.set_deadline(state, job, spec.deadline)


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
        retry_interval_s=0.0,
        grace_s=0.0,
        seq=seq,
        index=index,
        request=event.request,
        submitted=state.now,
        since=state.now,
        asked=event.at,
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
        close(job, JobState.CANCELLED)
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
        if job.tasks[number].state is JobState.PREEMPTING:  # it is being stopped already, so no `Stopping` follows
            move(job, number, JobState.CANCELLING)
    settle(state, job)


def _decided(state: State, event: Decided, *_at: int) -> None:
    state.rules = event.rules
    recent_usage.decided(state)


def _lapsed(state: State, event: Lapsed, *_at: int) -> None:
    job = job_of(state, event.job)
    if job.id not in state.pending or event.outcome not in MOVES[JobState.PENDING] & ENDED:
        raise IllegalMove(f"{job.id} has no task that waits and could end as {event.outcome}")
    close(job, event.outcome)
    job.reason = event.reason
    state.doomed.pop(job.id, None)
    settle(state, job)


def _reclaim_dropped(state: State, event: ReclaimDropped, *_at: int) -> None:
    state.reclaims.pop(event.job, None)


def _forgotten(state: State, event: Forgotten, *_at: int) -> None:
    for job_id in event.jobs:  # check all of them before the first one goes
        if job_of(state, job_id).ended is None:
            raise IllegalMove(f"{job_id} has not ended; it cannot be forgotten")
    for job_id in event.jobs:
        ended = state.jobs.pop(job_id).ended
        assert ended is not None
        state.forgotten = max(ended, state.forgotten or ended)
    for request in event.requests:
        state.requests.pop(request, None)


def _only_written(_state: State, _event: AnyEvent, *_at: int) -> None:
    """Change nothing: such an event is only recorded."""


def _new(state: State, job_id: str) -> None:
    if job_id in state.jobs:
        raise IllegalMove(f"job {job_id} is there already")


_APPLY: dict[type, Callable[..., None]] = {
    Epoch: _epoch,
    FileChanged: _file_changed,
    FileBroken: _file_broken,
    CapacityChanged: _capacity_changed,
    SightChanged: _sight_changed,
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
    ImageBuilt: built,
    Started: attempts.started,
    Claimed: attempts.claimed,
    Voided: attempts.voided,
    Waiting: attempts.waiting,
    Exited: attempts.exited,
    Gone: attempts.gone,
    Saved: attempts.saved,
    Stopping: attempts.stopping,
    Moved: attempts.moved,
    Ended: attempts.ended,
    AttemptLost: attempts.lost,
    Lapsed: _lapsed,
    ReclaimDropped: _reclaim_dropped,
    Forgotten: _forgotten,
    RequestsDropped: _only_written,
    Decided: _decided,
    LossAccepted: _only_written,
    Illegal: _only_written,
}
