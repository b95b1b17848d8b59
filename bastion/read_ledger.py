"""The entries of a window, from the bucket alone: from the newest snapshot that is older, and the journal after it."""

from __future__ import annotations

from datetime import datetime

from bastion import layout, recover
from bastion.at_once import Map, one_by_one
from bastion.errors import Missing, RecordError
from bastion.events import unpack
from bastion.ledger import Ledger
from bastion.meter import Window
from bastion.ports import Bucket
from bastion.state import State


def read_ledger(bucket: Bucket, window: Window, by: str, at_once: Map = one_by_one) -> Ledger:
    """The closed ledger of a window; `by` is one of `ledger.BY`. Raises `RecordError`, `BucketError`.

    One pass over the journal up to the window's end, a few objects in memory at a time.
    """
    state = state_before(bucket, window.since)
    ledger = Ledger(window, by, state)
    for record in recover.objects(bucket, state.seq if state else 0, at_once):
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
