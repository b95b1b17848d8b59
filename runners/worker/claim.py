"""The first step of a worker: to claim its place, if it may."""

from __future__ import annotations

import re

from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import Missing
from bastion.model.stored.records import PAPER_BYTES_MAX, AnyClaim, Claim
from bastion.stores.create_once import create_once

from .interfaces import Post, WorkerContext, WorkerPace
from .supervision import has_left
from .work_loop import persist


def claim_of(post: Post, doors: WorkerContext, pace: WorkerPace) -> Claim | None:
    """Return this worker's claim; None if it must not run."""
    claim = Claim(machine=post.machine, address=post.address, port=doors.machine.free_port(), nonce=doors.ids.new())
    key = layout.claim(post.key, post.worker)
    if not _came_with_the_first(post, doors, pace):
        return None
    claimed = persist(doors.clock, lambda: create_once(doors.bucket, key, encode(claim)), pace.retry_s)
    if not claimed.mine:
        return None  # another start of this worker was first, or the bastion has given the worker up
    if persist(doors.clock, lambda: has_left(doors.bucket, post.key.job), pace.retry_s):
        return None  # the claim was free only because the job ended long ago, and its claims were removed
    return claim


def _came_with_the_first(post: Post, doors: WorkerContext, pace: WorkerPace) -> bool:
    """Wait for the claim of the gang's first worker.

    Return True if it is of the same creation, or if that does not matter. Otherwise the gang would mix machines of two
    creations. A first worker that can never run means that the attempt was given up.
    """
    key = layout.claim(post.key, 0)
    while post.worker and post.creation:
        try:
            data = persist(doors.clock, lambda: doors.bucket.read(key, PAPER_BYTES_MAX).data, pace.retry_s)
        except Missing:
            if persist(doors.clock, lambda: has_left(doors.bucket, post.key.job), pace.retry_s):
                return False
            doors.clock.sleep(pace.order_s)
            continue
        first = decode(data, AnyClaim, key)
        return not first.void and post.creation in re.split("[/.]", first.machine)
    return True
