"""Make snapshots, which shorten the journal for new readers. This runs beside the bastion, from the bucket alone.

The newest snapshots serve readers that want the state now. Some older ones, the checkpoint snapshots, stay for ever:
from one of them it is never far to any moment of the past.
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
"""A new snapshot is due after this many journal objects."""
KEEP = 3
"""This many of the newest snapshots always stay."""

FAR = 2_048
FAR_BYTES = 16 * 2**20
"""`FAR` objects or this many bytes are folded in a second or two. No more lie between two checkpoint snapshots."""


def make(bucket: Bucket) -> int:
    """Write the snapshot of the journal as it is now, and drop one that is not needed any more.

    Return the number that the new snapshot goes up to.
    """
    state = load(bucket)
    create_once(bucket, layout.snapshot(state.seq), pack_snapshot(state))
    _thin_out(bucket)
    return state.seq


def end_for_good(bucket: Bucket) -> tuple[str, ...]:
    """End the last epoch for good, so that the journal itself can be removed. Return the keys that must stay.

    This writes the snapshot of an empty state that begins behind the journal's end. So no number and no epoch is ever
    used twice, no matter which bastion sleeps, and for how long.
    """
    status, _ = leadership.read(bucket)
    seq = end(bucket, max(snapshots(bucket), default=0))
    # Without a status: every epoch wrote a journal object, so there were at most `seq`.
    epoch = 1 + (status.epoch if status else seq)
    if status is not None:
        ended = msgspec.structs.replace(status, state="stopped", epoch=epoch, problems=[])
        bucket.write(layout.STATUS, encode(ended))
    key = layout.snapshot(seq + 1)  # one further: there may be a snapshot at the end already
    bucket.write(key, pack_snapshot(State(seq=seq + 1, epoch=epoch)))
    return key, layout.STATUS


def _thin_out(bucket: Bucket) -> None:
    """Drop the snapshot before the newest three, unless its neighbours would then be far from each other."""
    numbers = [0, *snapshots(bucket)]  # 0: the empty state, from which a journal without snapshots is folded
    if len(numbers) > KEEP + 1:
        before, number, after = numbers[-KEEP - 2 :][:3]
        if not _far(bucket, before, after):
            bucket.delete([layout.snapshot(number)])


def _far(bucket: Bucket, first: int, end: int) -> bool:
    """Return True if it takes long to fold the journal objects from `first` to below `end`.

    It costs at most three list requests.
    """
    last, size = layout.journal(end - 1), 0
    stats = bucket.list(layout.JOURNAL, after=layout.journal(first - 1) if first else "")
    for count, stat in enumerate(takewhile(lambda stat: stat.key <= last, stats), start=1):
        size += stat.size
        if count > FAR or size > FAR_BYTES:
            return True
    return False
