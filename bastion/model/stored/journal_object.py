"""Objects of the journal: the events of one tick, or a part of them, as JSON; and gaps, which cannot be read. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import datetime

from ..codec import Moment, Record, decode, encode, numbered, readable
from ..state.state import State
from ..version import JOURNAL, VERSION
from .events import AnyEvent
from .status import Status

OBJECT_BYTES_MAX = 4 * 1024 * 1024


class JournalObject(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One object of the journal.

    schema: the number of this form.
    version: version of the program that wrote it.
    seq: its number in the journal.
    epoch: epoch of the bastion that wrote it.
    nonce: lets the writer recognise its own object after a lost answer.
    now: time of the tick.
    prev: digest of the object before it; if somebody changes or replaces one, the chain breaks. Empty in the first
        object, and in objects from before version 0.1.0.
    events: the events, in order.
    """

    schema: int = numbered(JOURNAL)
    version: str = ""
    seq: int
    epoch: int
    nonce: str
    now: Moment
    prev: str = ""
    events: list[AnyEvent]


readable(JournalObject)


def pack(*, seq: int, epoch: int, nonce: str, now: datetime, events: list[bytes], prev: str = "") -> bytes:
    """Make a journal object from events that are encoded already."""
    known = {"prev": prev} if prev else {}
    head = encode(
        {"schema": JOURNAL, "version": VERSION, "seq": seq, "epoch": epoch, "nonce": nonce, "now": now} | known
    )
    return head[:-1] + b',"events":[' + b",\n".join(events) + b"]}"


def unpack(data: bytes, seq: int) -> JournalObject:
    """Parse the bytes of a journal object. Raises `RecordError`, or `NewerVersion`."""
    return decode(data, JournalObject, f"journal object {seq}")


def digest(data: bytes) -> str:
    """Return the digest of a journal object's bytes, in hexadecimal.

    Blanks at the end do not count: some stores add them to each object, and a copy of such a bucket keeps them.
    """
    return hashlib.sha256(data.rstrip(b" \t")).hexdigest()


def broken_link(seq: int, prev: str, head: str, *, chained: bool) -> str:
    """Describe the broken link between an object and the one before it; return "" if it is intact or cannot be checked.

    `prev` is the digest of the object before, as object `seq` states it. `head` is the digest of that object as it is
    now. `chained`: that object belongs to the chain.
    """
    if not head or prev == head or not (prev or chained):
        return ""
    if not prev:
        return f"journal object {seq} was changed: it holds no digest of the one before; put back what was stored there"
    return (
        f"journal object {seq - 1} was changed: its digest is {head[:12]}, but object {seq} records {prev[:12]}; "
        "put back what was stored there"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A gap: journal objects in a row that cannot be read.

    first: number of the first one.
    last: number of the last one.
    problem: why they cannot be read.
    after: they were written after this time; None: the gap is at the beginning of what was read.
    before: they were written before this time; None: the gap is at the end of what was read.
    """

    first: int
    last: int
    problem: str
    after: datetime | None
    before: datetime | None = None


@dataclass(slots=True)
class Gaps:
    """The gaps that were found so far. Neighbouring objects form one gap.

    found: the gaps, in order.
    """

    found: list[Gap] = field(default_factory=list)
    _now: datetime | None = None

    def passed(self, now: datetime) -> None:
        """Record that an object of this time was read: a gap before it was written before this time."""
        self._now = now
        if self.found and self.found[-1].before is None:
            self.found[-1] = replace(self.found[-1], before=now)

    def met(self, number: int, problem: str) -> None:
        """Record that an object cannot be read, or not all of it."""
        last = self.found[-1] if self.found else None
        if last and last.last == number - 1 and last.before is None:
            self.found[-1] = replace(last, last=number)
        else:
            self.found.append(Gap(first=number, last=number, problem=problem, after=self._now))


def lost_end(state: State, status: Status | None) -> list[Gap]:
    """Return what the journal lacks at its end, according to a status that was read before the journal.

    A status from a version that wrote no `head` proves nothing.
    """
    if status is None or not status.head or status.seq <= state.seq:
        return []
    problem = f"journal object {state.seq} is missing, but status.json records it; see bastion recover"
    return [Gap(first=state.seq, last=status.seq - 1, problem=problem, after=state.now)]
