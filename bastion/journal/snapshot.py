"""Snapshots shorten the journal for those who begin to read it. Made beside the bastion, from the bucket alone.

The newest serve who wants the state now. Of the older ones some stay for ever, the milestones: from one of them on it
is never far to any moment of the past.
"""

from __future__ import annotations

from itertools import takewhile

import msgspec

from ..model import layout
from ..model.codec import encode
from ..model.interfaces import Bucket
from ..model.state.state import State
from ..stores.create_once import create_once
from . import leadership
from .recover import end, load, pack_snapshot, snapshots

EVERY = 64
KEEP = 3

FAR = 2_048
FAR_BYTES = 16 * 2**20
"""Between two milestones lie no more journal objects, and no more bytes of them, than are folded in a second or two."""


def make(bucket: Bucket) -> int:
    """Write the snapshot of the journal as it is now, and drop one that is not needed any more. The number it goes up to."""
    state = load(bucket)
    create_once(bucket, layout.snapshot(state.seq), pack_snapshot(state))
    _thin_out(bucket)
    return state.seq


def fence_off(bucket: Bucket) -> tuple[str, ...]:
    """End the last epoch, and write the snapshot of a state that knows nothing and goes on behind the journal's end. The keys
    that have to stay then.

    So the journal itself can be removed: no number and no epoch is ever given twice, whoever sleeps, and for how long.
    """
    status, _ = leadership.read(bucket)
    seq = end(bucket, max(snapshots(bucket), default=0))
    epoch = 1 + (status.epoch if status else seq)  # each epoch has taken a number of its own
    if status is not None:
        ended = msgspec.structs.replace(status, state="stopped", epoch=epoch, problems=[])
        bucket.write(layout.STATUS, encode(ended))
    key = layout.snapshot(seq + 1)  # one further: of the end there may be another one
    bucket.write(key, pack_snapshot(State(seq=seq + 1, epoch=epoch)))
    return key, layout.STATUS


def _thin_out(bucket: Bucket) -> None:
    """Drop the one before the newest three, unless its neighbours would then be far from each other."""
    numbers = [0, *snapshots(bucket)]
    if len(numbers) > KEEP + 1:
        before, number, after = numbers[-KEEP - 2 :][:3]
        if not _far(bucket, before, after):
            bucket.delete([layout.snapshot(number)])


def _far(bucket: Bucket, first: int, end: int) -> bool:
    """True if it takes long to fold the journal objects from `first` on and below `end`. At most three list requests."""
    last, size = layout.journal(end - 1), 0
    stats = bucket.list(layout.JOURNAL, after=layout.journal(first - 1) if first else "")
    for count, stat in enumerate(takewhile(lambda stat: stat.key <= last, stats), start=1):
        size += stat.size
        if count > FAR or size > FAR_BYTES:
            return True
    return False
