"""Set a journal back whose time ran ahead of the store's. Pure.

This repairs the times in the state, and lists what happened too early.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec

from ..model.clocks import OFF_MAX_S
from ..model.durations import short
from ..model.state.state import Cause, Job, JobState, State
from ..model.stored.events import AnyEvent, Lapsed, Started, Stopping

PLANNED = frozenset({"begin", "deadlines"})
"""Times that users chose. These may lie in the future."""


def heal(state: State) -> None:
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


def did(state: State, events: Iterable[AnyEvent], dated: datetime) -> Iterator[str]:
    """Yield one line for each event that had an effect before its time.

    The store `dated` the events: that is when they were really written.
    """
    for event in events:
        job = state.jobs.get(getattr(event, "job", ""))
        if job is not None and (line := _early(event, job, dated)):
            yield line


def _early(event: AnyEvent, job: Job, dated: datetime) -> str:
    match event:
        case Started() if job.begin and (job.begin - dated).total_seconds() > OFF_MAX_S:
            return f"{event.key} was started {short((job.begin - dated).total_seconds())} before its --begin"
        case Stopping(cause=Cause.DEADLINE) | Lapsed(outcome=JobState.TIMEOUT) if job.deadline and job.deadline > dated:
            return f"{job.id} was ended {short((job.deadline - dated).total_seconds())} before its --deadline"
    return ""


def dates(listed: Mapping[int, datetime], seq: int, now: datetime) -> datetime:
    """Return when a journal object was written: the date that the store gave it, but not after `now`."""
    return min(listed.get(seq, now), now)
