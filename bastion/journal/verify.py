"""Walk the whole journal from its first object, and check each object against the digest that the next one names."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..model import layout
from ..model.errors import NewerVersion, ObjectNotFound, RecordError
from ..model.interfaces import Bucket, Map
from ..model.stored.events import LossAccepted
from ..model.stored.journal_object import JournalObject, broken_link
from . import lost_tail, recover


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalCheck:
    """The result of the walk.

    objects: how many objects it found, up to the first that is wrong.
    first: the number of the first object.
    chain: the number from which on objects name the digest of the one before; None: none does.
    head: the digest of the last object that was found good.
    accepted: the first and last number of each part whose loss an admin accepted.
    problem: what is wrong; empty if nothing is.
    """

    objects: int
    first: int
    chain: int | None
    head: str
    accepted: tuple[tuple[int, int], ...]
    problem: str = ""


def walk(bucket: Bucket, at_once: Map) -> JournalCheck:
    """Read everything and return what was found. Raises `BucketError`, `NewerVersion`."""
    known = lost_tail.gather(bucket)
    seen = _Seen(pins=dict(_pins(bucket, known)))
    try:
        for start, end in _runs(bucket):
            seen.meets(bucket, start)
            for record, head in recover.linked(bucket, start, at_once, end):
                seen.takes(record, head)
        missing = next(lost_tail.lost(bucket, recover.load(bucket, at_once), known, at_once), "")
        problem = f"the end of the journal is lost: {missing}; {lost_tail.ADVICE}" if missing else ""
    except NewerVersion:
        raise
    except RecordError as error:
        problem = str(error)
    return JournalCheck(
        objects=seen.objects,
        first=seen.first,
        chain=seen.chain,
        head=seen.head,
        accepted=tuple(seen.accepted),
        problem=problem,
    )


class _Seen:
    """The progress of the walk.

    `pins` are the digests that snapshots and the status name, each with the name of its source, by the number after the
    object.
    """

    def __init__(self, pins: dict[int, tuple[str, str]]) -> None:
        self.objects, self.first, self.head = 0, 0, ""
        self.chain: int | None = None
        self.accepted: list[tuple[int, int]] = []
        self._pins, self._next = pins, 0
        self._gap: tuple[int, int] | None = None

    def meets(self, bucket: Bucket, start: int) -> None:
        """Note where a run of objects begins.

        The objects before it are missing, unless a purge or an admin let them go.
        """
        if not self.objects:
            self.first = self._next = start
        elif start > self._next:
            self._gap, self.head = (self._next, start - 1), ""

    def takes(self, record: JournalObject, head: str) -> None:
        """Check the next object. Raises `RecordError`, which names the object that is wrong."""
        number = self._next if self._gap is None else self._gap[1] + 1
        if record.seq != number:
            raise RecordError(
                f"journal object {number} was changed: its content is that of object {record.seq}; "
                "put back what was there"
            )
        self._allow_gap(record)
        if problem := broken_link(record.seq, record.prev, self.head, chained=self.chain is not None):
            raise RecordError(problem)
        name, pinned = self._pins.get(record.seq + 1, ("", head))
        if pinned != head:
            raise RecordError(
                f"journal object {record.seq} was changed: its digest is {head[:12]}, but {name} records "
                f"{pinned[:12]}; put back what was stored there"
            )
        if record.prev and self.chain is None:
            self.chain = record.seq
        self.objects, self.head, self._next = self.objects + 1, head, record.seq + 1

    def _allow_gap(self, record: JournalObject) -> None:
        """Check that this object accepts the loss of what is missing before it.

        If it is the very first object, it must not name one before it.
        """
        if not self.objects and record.seq and record.prev:
            raise RecordError(
                f"journal object {record.seq - 1} is missing, but object {record.seq} names its digest; put it back"
            )
        gap, self._gap = self._gap, None
        if gap is None:
            return
        if not any(isinstance(event, LossAccepted) and event.first <= gap[0] for event in record.events):
            raise RecordError(f"journal object {gap[0]} is missing, but later ones are there; put it back")
        self.accepted.append(gap)


def _runs(bucket: Bucket) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the objects that are there, as ranges without gaps."""
    start = end = -1
    for stat in bucket.list(layout.JOURNAL):
        if not layout.is_journal(stat.key):
            continue
        number = layout.seq_of(stat.key)
        if number != end:
            if end > start >= 0:
                yield start, end
            start = number
        end = number + 1
    if end > start >= 0:
        yield start, end


def _pins(bucket: Bucket, known: lost_tail.KnownObjects) -> Iterator[tuple[int, tuple[str, str]]]:
    """Yield the digests that snapshots and the status name. A snapshot that cannot be read names none."""
    for number in recover.snapshots(bucket):
        key = layout.snapshot(number)
        try:
            state = recover.unpack_snapshot(bucket.read(key, recover.PLAIN_BYTES_MAX).data, key)
        except (ObjectNotFound, RecordError):
            continue
        if state.head and state.seq == number:
            yield number, (key, state.head)
    if known.status is not None and known.status.head:
        yield known.status.seq, (layout.STATUS, known.status.head)
