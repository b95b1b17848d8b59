"""The journal's objects: all events of one tick, or a part of them, as JSON. Pure."""

from __future__ import annotations

from datetime import datetime

from bastion.codec import Record, decode, encode, numbered, readable
from bastion.events import AnyEvent
from bastion.stamp import Moment
from bastion.version import JOURNAL, VERSION

OBJECT_BYTES_MAX = 4 * 1024 * 1024


class JournalObject(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One object of the journal. `nonce` tells its writer, after a lost answer, that it is its own; `version` its program's."""

    schema: int = numbered(JOURNAL)
    version: str = ""
    seq: int
    epoch: int
    nonce: str
    now: Moment
    events: list[AnyEvent]


readable(JournalObject)


def pack(*, seq: int, epoch: int, nonce: str, now: datetime, events: list[bytes]) -> bytes:
    """A journal object from events that are encoded already."""
    head = encode({"schema": JOURNAL, "version": VERSION, "seq": seq, "epoch": epoch, "nonce": nonce, "now": now})
    return head[:-1] + b',"events":[' + b",\n".join(events) + b"]}"


def unpack(data: bytes, seq: int) -> JournalObject:
    """A journal object from its bytes. Raises `RecordError`, or `Newer`."""
    return decode(data, JournalObject, f"journal object {seq}")
