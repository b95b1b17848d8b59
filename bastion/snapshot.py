"""Snapshots shorten the journal for those who begin to read it. Made beside the bastion, from the bucket alone."""

from __future__ import annotations

from bastion import layout
from bastion.once import create_once
from bastion.ports import Bucket
from bastion.recover import load, pack_snapshot

EVERY = 64
KEEP = 3


def make(bucket: Bucket) -> int:
    """Write the snapshot of the journal as it is now, drop all but the newest three. The number it goes up to."""
    state = load(bucket)
    create_once(bucket, layout.snapshot(state.seq), pack_snapshot(state))
    old = [stat.key for stat in bucket.list(layout.SNAPSHOTS)][:-KEEP]
    bucket.delete(old)
    return state.seq
