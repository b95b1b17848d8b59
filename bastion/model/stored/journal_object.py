"""The journal's objects: all events of one tick, or a part of them, as JSON. Pure."""

from __future__ import annotations

import hashlib
from datetime import datetime

from ..audit import Moment
from ..codec import Record, decode, encode, numbered, readable
from ..version import JOURNAL, VERSION
from .events import AnyEvent

OBJECT_BYTES_MAX = 4 * 1024 * 1024


class JournalObject(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One object of the journal. `nonce` tells its writer, after a lost answer, that it is its own; `version` its program's.

    `prev` is the digest of the object before it: who changes or replaces one breaks the chain. It is empty in the first
    object, and in those of before version 0.1.0.
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
    """A journal object from events that are encoded already."""
    known = {"prev": prev} if prev else {}
    head = encode(
        {"schema": JOURNAL, "version": VERSION, "seq": seq, "epoch": epoch, "nonce": nonce, "now": now} | known
    )
    return head[:-1] + b',"events":[' + b",\n".join(events) + b"]}"


def unpack(data: bytes, seq: int) -> JournalObject:
    """A journal object from its bytes. Raises `RecordError`, or `Newer`."""
    return decode(data, JournalObject, f"journal object {seq}")


def digest(data: bytes) -> str:
    """The digest of a journal object's bytes, in hexadecimal.

    Blanks at the end do not count: some stores add them to each object, and a copy of such a bucket keeps them.
    """
    return hashlib.sha256(data.rstrip(b" \t")).hexdigest()


def broken_link(seq: int, prev: str, head: str, *, chained: bool) -> str:
    """What is wrong between object `seq`, which says that the one before has the digest `prev`, and the digest `head` of that
    one as it is; "" if nothing is, or if one of them is not known. `chained`: the one before it belongs to the chain.
    """
    if not head or prev == head or not (prev or chained):
        return ""
    if not prev:
        return f"journal object {seq} was changed: it holds no digest of the one before; put back what was stored there"
    return (
        f"journal object {seq - 1} was changed: its digest is {head[:12]}, and object {seq} knows it as {prev[:12]}; "
        "put back what was stored there"
    )
