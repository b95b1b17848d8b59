"""The entries of a window, from the bucket alone: from the newest snapshot that is older, and the journal after it."""

from __future__ import annotations

from datetime import datetime

from bastion import layout, reading, recover
from bastion.at_once import Map
from bastion.errors import Missing, RecordError
from bastion.events import unpack
from bastion.holes import Holes
from bastion.ledger import Ledger
from bastion.meter import Window
from bastion.ports import Bucket
from bastion.state import State


def read_ledger(bucket: Bucket, window: Window, by: str, at_once: Map, holes: Holes) -> Ledger:
    """The closed ledger of a window; `by` is one of `ledger.BY`. Raises `BucketError`, `Newer`.

    One pass over the journal up to the window's end, a few objects in memory at a time. What cannot be read of it is
    left out and named in `holes`.
    """
    state = state_before(bucket, window.since)
    begin = state.seq if state else 0
    ledger = Ledger(window, by, state)
    for record in reading.read(bucket, range(begin, recover.end(bucket, begin)), at_once, holes):
        if not ledger.take(record):
            break
    ledger.close()
    return ledger


def state_before(bucket: Bucket, moment: datetime) -> State | None:
    """The newest snapshot of a time before this moment; None if there is none that can be read."""
    for stat in reversed(list(bucket.list(layout.SNAPSHOTS))):
        try:
            last = layout.seq_of(stat.key) - 1
            if unpack(bucket.read(layout.journal(last)).data, last).now < moment:  # small; the snapshot is not
                return recover.unpack_snapshot(bucket.read(stat.key).data, stat.key)
        except (Missing, RecordError, ValueError):
            continue
    return None
