"""The entries of a window, from the bucket alone: from the newest snapshot that is older, and the journal after it."""

from __future__ import annotations

from ..journal import past, reading, recover
from ..model.at_once import Map
from ..model.ports import Bucket
from ..model.stored.holes import Holes
from .ledger import Ledger
from .meter import Window


def read_ledger(bucket: Bucket, window: Window, by: str, at_once: Map, holes: Holes) -> Ledger:
    """The closed ledger of a window; `by` is one of `ledger.BY`. Raises `BucketError`, `Newer`.

    One pass over the journal up to the window's end, a few objects in memory at a time. What cannot be read of it is
    left out and named in `holes`.
    """
    state = recover.newest_snapshot(bucket, upto=past.number_at(bucket, window.since, at_once))
    begin, end = state.seq if state else 0, past.end(bucket)
    ledger = Ledger(window, by, state)
    last = reading.time_of(bucket, end - 1) if end else None
    ledger.closes = last is None or last >= window.until
    for record in reading.read(bucket, range(begin, end), at_once, holes):
        if not ledger.take(record):
            break
    ledger.close()
    return ledger
