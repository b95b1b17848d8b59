"""Objects of the journal: the events of one tick, or a part of them, as JSON. Pure."""

from __future__ import annotations

import hashlib
from datetime import datetime

from ..audit import Moment
from ..codec import Record, decode, encode, numbered, readable
from ..version import JOURNAL, VERSION
from .events import AnyEvent

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
    """Parse the bytes of a journal object. Raises `RecordError`, or `Newer`."""
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
        f"journal object {seq - 1} was changed: its digest is {head[:12]}, and object {seq} knows it as {prev[:12]}; "
        "put back what was stored there"
    )
