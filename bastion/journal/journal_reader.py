"""Read the journal for readers that decide nothing.

They read over its gaps and name them. `recover` refuses gaps instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from ..model import layout
from ..model.codec import decode, readable
from ..model.errors import AccessDenied, NewerVersion, ObjectNotFound, RecordError
from ..model.interfaces import Bucket, Map
from ..model.job.spec import JobSpec
from ..model.job.spec_changes import revised
from ..model.state.state import Job, State
from ..model.stored.events import AnyEvent, Illegal, Submitted, Updated
from ..model.stored.journal_object import Gaps, JournalObject, broken_link, digest, unpack
from . import recover
from .fold import fold

_EVENTS = b',"events":['
_LOST = Illegal(what="this event cannot be read")
"""The entry in place of an event that cannot be read."""
_HEAD_MAX = 1_024
"""The head of an object, before its events, has at most this many bytes."""
TRIES = 16
"""At most this many objects in a row are tried for their time."""
PROBES = 16
"""At most this many objects are read together in the search for a moment."""
_OneEvent = list[AnyEvent]

readable(_OneEvent)


def read(bucket: Bucket, numbers: Sequence[int], at_once: Map, gaps: Gaps) -> Iterator[JournalObject]:
    """Yield the journal objects of these numbers, one read each. Of a damaged one, what is left is given.

    Raises `BucketError`, `NewerVersion`.
    """
    return (record for record, _ in _linked(bucket, numbers, at_once, gaps))


def _linked(
    bucket: Bucket, numbers: Sequence[int], at_once: Map, gaps: Gaps, known: str = "", *, chained: bool = False
) -> Iterator[tuple[JournalObject, str]]:
    """Yield the objects, each with its digest. An object that was changed counts as a gap, too.

    `known` is the digest of the object before the first.
    """
    last = numbers[0] - 1 if numbers else -1
    for start in range(0, len(numbers), recover.AT_ONCE):
        batch = numbers[start : start + recover.AT_ONCE]
        for number, found in zip(batch, at_once(lambda one: _look(bucket, one), batch), strict=True):
            if isinstance(found, Exception):
                raise found
            record, problem, head = found
            if record and last == number - 1 and (broken := broken_link(number, record.prev, known, chained=chained)):
                # A digest that does not fit blames the object before; a missing one blames this object.
                gaps.met(number - 1 if record.prev else number, broken)
            if record:
                gaps.passed(record.now)
            if problem:
                gaps.met(number, problem)
            if record:
                yield record, head
            last, known, chained = number, head, chained or bool(record and record.prev)


def load(bucket: Bucket, at_once: Map, gaps: Gaps) -> State:
    """Return the state now, as far as it can be read.

    Raises `RecordError` if nothing of it can be read; `BucketError`, `NewerVersion`.
    """
    state = recover.newest_snapshot(bucket) or State()
    if state.now:
        gaps.passed(state.now)
    catch_up(bucket, state, at_once, gaps)
    if gaps.found and state.now is None:
        raise RecordError(gaps.found[0].problem)
    return state


def catch_up(bucket: Bucket, state: State, at_once: Map, gaps: Gaps) -> None:
    """Fold the journal objects after the state. After a gap, events that do not fit are left out."""
    fold_on(bucket, state, recover.end(bucket, state.seq), at_once, gaps)


def fold_on(bucket: Bucket, state: State, end: int, at_once: Map, gaps: Gaps) -> None:
    """Fold the journal objects from the state up to below `end`. After a gap, events that do not fit are left out."""
    numbers = range(state.seq, end)
    for record, head in _linked(bucket, numbers, at_once, gaps, state.head, chained=state.chained):
        state.seq = record.seq  # skips a gap, which `fold` would refuse
        fold(state, record, head, lenient=bool(gaps.found))
    state.seq = end


def number_at(bucket: Bucket, state: State, moment: datetime, at_once: Map) -> int:
    """Return the number of the first journal object at this time or later; `state.seq` if there is none.

    The jobs in the state narrow the range. Then each round reads a few objects together and keeps one part of the
    range. At a gap the result may be too low.
    """
    low = max((job.seq + 1 for job in state.jobs.values() if job.submitted < moment), default=0)
    high = min((job.seq for job in state.jobs.values() if job.submitted >= moment), default=state.seq)
    while low < high:
        for probe, at, now in _next_times(bucket, low, high, at_once):
            if now is None or now >= moment:
                high = probe
                break
            low = at + 1
    return low


def _next_times(bucket: Bucket, low: int, high: int, at_once: Map) -> Iterator[tuple[int, int, datetime | None]]:
    """Yield a few numbers in the range, each with the result of `_next_time`."""
    probes = range(low, high, -(-(high - low) // PROBES))
    for probe, found in zip(probes, at_once(lambda number: _next_time(bucket, number, high), probes), strict=True):
        if isinstance(found, Exception):
            raise found
        yield probe, *found


def _next_time(bucket: Bucket, number: int, end: int) -> tuple[int, datetime | None]:
    """Return the first readable object from this number on, and its time; `end` and None if a few are unreadable."""
    for seq in range(number, min(end, number + TRIES)):
        if now := time_of(bucket, seq):
            return seq, now
    return end, None


def time_of(bucket: Bucket, number: int) -> datetime | None:
    """Return when an object was written; None if it cannot be read. Raises `BucketError`, `NewerVersion`.

    Only the head of the object is decoded.
    """
    try:
        head, found, _ = bucket.read(layout.journal(number)).data.partition(_EVENTS)
        record = _of_head(head, number) if found and len(head) <= _HEAD_MAX else None
        return record.now if record and record.seq == number else None
    except NewerVersion:
        raise
    except (ObjectNotFound, AccessDenied, RecordError):
        return None


def numbers_of(state: State, job: Job) -> list[int]:
    """Return the journal numbers that can hold events of a job, in order. `job` may have left the state."""
    assert state.indexed is not None
    return sorted({job.seq, *range(job.seq, state.indexed), *job.later})


def spec_of(bucket: Bucket, job: Job, at_once: Map, gaps: Gaps) -> JobSpec | None:
    """Return the spec of a job as it is in force; None if the job was rejected, or its spec lies in a gap."""
    places = [(job.seq, job.index), *([(job.renewed.seq, job.renewed.index)] if job.renewed else [])]
    events = {
        (record.seq, index): event
        for record in read(bucket, sorted({seq for seq, _ in places}), at_once, gaps)
        for index, event in enumerate(record.events)
        if (record.seq, index) in places
    }
    first, *newer = [events.get(place) for place in places]
    changes = [event.changes if isinstance(event, Updated) else None for event in newer]
    return revised(first.spec, *changes, job.changes, digest=job.digest) if isinstance(first, Submitted) else None


def _look(bucket: Bucket, number: int) -> tuple[JournalObject | None, str, str]:
    """Return what can be read of an object, what is wrong with it, and its digest if nothing is wrong."""
    try:
        data = bucket.read(layout.journal(number)).data
    except ObjectNotFound:
        return None, f"journal object {number} is missing", ""
    except AccessDenied as denied:
        return None, f"journal object {number} cannot be read: {denied}", ""
    try:
        record = unpack(data, number)
    except NewerVersion:
        raise
    except RecordError as damage:
        return _rest_of(data, number), str(damage), ""
    if record.seq != number:
        return None, f"journal object {number} cannot be read: its content is that of object {record.seq}", ""
    return record, "", digest(data)


def _rest_of(data: bytes, number: int) -> JournalObject | None:
    """Return what is left of a damaged object. Each event is a line; a lost one is replaced by an `Illegal`."""
    head, found, body = data.partition(_EVENTS)
    if not found or len(head) > _HEAD_MAX:
        return None
    lines = body.removesuffix(b"]}").split(b",\n")
    try:
        record = _of_head(head, number)
    except RecordError:
        return None
    events = [event for line in lines for event in _event(line)]
    return JournalObject(seq=number, epoch=record.epoch, nonce=record.nonce, now=record.now, events=events)


def _of_head(head: bytes, number: int) -> JournalObject:
    return unpack(head + _EVENTS + b"]}", number)


def _event(line: bytes) -> list[Any]:
    try:
        return decode(b"[" + line + b"]", _OneEvent, "an event")
    except RecordError:
        return [_LOST]
