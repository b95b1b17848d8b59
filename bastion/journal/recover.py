"""Read the state from the bucket: the newest good snapshot, and the journal after it. A gap is an error."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from ..model import layout
from ..model.codec import Record, decode, encode, numbered, readable
from ..model.errors import AccessDenied, ObjectNotFound, RecordError
from ..model.interfaces import Bucket, Map
from ..model.job.spec import JobSpec
from ..model.job.spec_changes import Changes, Renewal, revised
from ..model.state.state import Job, State
from ..model.stored.events import AnyEvent, Submitted, Updated
from ..model.stored.journal_object import JournalObject, broken_link, digest, unpack
from ..model.version import SNAPSHOT
from .fold import fold

AT_ONCE = 64
"""Journal objects that are read together."""

PLAIN_BYTES_MAX = 2**30
"""The most bytes that a snapshot may hold uncompressed.

With the default limits, 200,000 jobs, a million tasks and 500,000 requests take less than 700 MB.
"""


def one_by_one(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    """The `Map` of code that has no tasks: one item after the other. An exception is raised, not returned."""
    return [work(item) for item in items]


class Snapshot(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The fold of all journal objects below `state.seq`, stored compressed as `snapshots/…`.

    schema: the number of the format.
    state: the state.
    """

    schema: int = numbered(SNAPSHOT)
    state: State


readable(Snapshot)


def load(bucket: Bucket, at_once: Map = one_by_one) -> State:
    """Return the state now.

    Raises `RecordError` if the journal cannot be read, `BucketError` if the bucket is unreachable.
    """
    state = newest_snapshot(bucket) or State()
    catch_up(bucket, state, at_once)
    return state


def catch_up(bucket: Bucket, state: State, at_once: Map = one_by_one) -> None:
    """Fold the journal objects after the state. Raises `RecordError`, which names an object that was changed."""
    for record, head in linked(bucket, state.seq, at_once, None):
        fold(state, record, head)


def objects(bucket: Bucket, seq: int, at_once: Map = one_by_one, below: int | None = None) -> Iterator[JournalObject]:
    """Yield the journal objects from `seq` on, below the number `below` if it is given.

    It costs one list request for each thousand objects, and one read for each object. Raises `RecordError` if an object
    has another digest than the next one names.
    """
    known, chained = "", False
    for record, head in linked(bucket, seq, at_once, below):
        if problem := broken_link(record.seq, record.prev, known, chained=chained):
            raise RecordError(problem)
        known, chained = head, chained or bool(record.prev)
        yield record


def linked(bucket: Bucket, seq: int, at_once: Map, below: int | None) -> Iterator[tuple[JournalObject, str]]:
    """Yield the objects, each with the digest of its bytes.

    Raises `RecordError`, which names an object and what to do.
    """
    last = end(bucket, seq) if below is None else below
    for start in range(seq, last, AT_ONCE):
        for found in at_once(lambda number: _object(bucket, number), range(start, min(start + AT_ONCE, last))):
            if isinstance(found, Exception):
                raise found
            yield found


def end(bucket: Bucket, seq: int) -> int:
    """Return the number after the last journal object; `seq` if there is none from there on.

    The listing only shows how far the journal goes. It may hold files that are not ours, and a listing that was taken
    during a write may leave out the object before the last.
    """
    after = layout.journal(seq - 1) if seq else ""
    ours = (stat.key for stat in bucket.list(layout.JOURNAL, after=after) if layout.is_journal(stat.key))
    return max((layout.seq_of(key) + 1 for key in ours), default=seq)


def _object(bucket: Bucket, seq: int) -> tuple[JournalObject, str]:
    try:
        data = bucket.read(layout.journal(seq)).data
        return unpack(data, seq), digest(data)
    except ObjectNotFound as missing:
        raise RecordError(f"journal object {seq} is missing, but later ones are there; put it back") from missing
    except AccessDenied as denied:  # a retry does not help
        raise RecordError(f"journal object {seq} cannot be read: {denied}") from denied


def proven(bucket: Bucket, seq: int) -> JournalObject:
    """Return one object, checked against the digest that the next object names. It costs two reads.

    This is for objects that are read long after their fold, such as the command of a job that starts. A snapshot may
    have replaced the fold, and the object may have been changed since. Raises `ObjectNotFound`, `RecordError`.
    """
    data = bucket.read(layout.journal(seq)).data
    record = unpack(data, seq)
    try:
        prev = unpack(bucket.read(layout.journal(seq + 1)).data, seq + 1).prev
    except (ObjectNotFound, AccessDenied, RecordError):  # it is the last object, or another check reports the next one
        return record
    if problem := broken_link(seq + 1, prev, digest(data), chained=False):
        raise RecordError(problem)
    return record


def events(bucket: Bucket, after_seq: int = 0) -> Iterator[tuple[int, datetime, AnyEvent]]:
    """Yield every event from this journal object on, as (journal number, time, event)."""
    for record in objects(bucket, after_seq):
        for event in record.events:
            yield record.seq, record.now, event


def spec_of(bucket: Bucket, job: Job) -> JobSpec:
    """Return the spec of a job as it is in force, from its places in the journal.

    Raises `RecordError` if it is not there.
    """
    try:
        event = unpack(bucket.read(layout.journal(job.seq)).data, job.seq).events[job.index]
    except (ObjectNotFound, IndexError) as error:
        raise RecordError(f"the spec of {job.id} is not in journal object {job.seq}") from error
    if not isinstance(event, Submitted):
        raise RecordError(f"{job.id} was rejected; its spec was not kept")
    return revised(event.spec, command_of(bucket, job.renewed), job.changes, digest=job.digest)


def command_of(bucket: Bucket, renewed: Renewal | None) -> Changes | None:
    """Return the newest command with its bundle, from its place in the journal; None if `renewed` is None.

    Raises `RecordError` if it is not there.
    """
    if renewed is None:
        return None
    try:
        event = proven(bucket, renewed.seq).events[renewed.index]
    except (ObjectNotFound, IndexError) as error:
        raise RecordError(f"the new command is not in journal object {renewed.seq}") from error
    if not isinstance(event, Updated):
        raise RecordError(f"event {renewed.index} of journal object {renewed.seq} is not an update")
    return event.changes


def snapshots(bucket: Bucket) -> list[int]:
    """Return the numbers that the snapshots go up to, in order. It costs one list request for each thousand."""
    return [layout.seq_of(stat.key) for stat in bucket.list(layout.SNAPSHOTS) if layout.is_snapshot(stat.key)]


def newest_snapshot(bucket: Bucket, upto: int | None = None) -> State | None:
    """Return the newest snapshot that can be read and goes no further than `upto`; None if there is none.

    A damaged snapshot is skipped, and so is one of a newer version: a snapshot only saves time. If the journal itself
    is of a newer version, its reader refuses it.
    """
    for number in reversed(snapshots(bucket)):
        if upto is not None and number > upto:
            continue
        key = layout.snapshot(number)
        try:
            return unpack_snapshot(bucket.read(key, PLAIN_BYTES_MAX).data, key)
        except (RecordError, ObjectNotFound):
            continue
    return None


def pack_snapshot(state: State) -> bytes:
    """Return the bytes of a snapshot. Raises `RecordError` if it is too large to be read again."""
    import zstandard

    plain = encode(Snapshot(state=state))
    if len(plain) > PLAIN_BYTES_MAX:
        raise RecordError(f"a snapshot has {len(plain)} bytes; at most {PLAIN_BYTES_MAX} are allowed: lower [limits]")
    return zstandard.ZstdCompressor(level=3, write_checksum=True).compress(plain)


def unpack_snapshot(data: bytes, what: str) -> State:
    """Return the state from the bytes of a snapshot.

    Raises `RecordError` if they are damaged, `NewerVersion` if this program is too old.
    """
    import zstandard

    try:
        # -1 means that the frame names no size. Frames of ours do.
        if not 0 <= (size := zstandard.frame_content_size(data)) <= PLAIN_BYTES_MAX:
            raise RecordError(f"{what} is damaged: it holds {size} bytes; at most {PLAIN_BYTES_MAX} are allowed")
        plain = zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as error:
        raise RecordError(f"{what} is damaged: {error}") from error
    with _without_collection():
        return decode(plain, Snapshot, what).state


@contextmanager
def _without_collection() -> Iterator[None]:
    """Switch the garbage collector off for a while. A million objects are made here, and none of them is garbage."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
