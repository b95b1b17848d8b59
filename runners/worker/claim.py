"""The first step of a worker: to claim its place, if it may."""

from __future__ import annotations

import re

from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound
from bastion.model.stored.records import RECORD_BYTES_MAX, AnyClaim, Claim
from bastion.stores.create_once import create_once

from .interfaces import WorkerContext, WorkerIdentity, WorkerPace
from .supervision import has_left
from .work_loop import persist


def claim_of(identity: WorkerIdentity, context: WorkerContext, pace: WorkerPace) -> Claim | None:
    """Return this worker's claim; None if it must not run."""
    claim = Claim(
        machine=identity.machine, address=identity.address, port=context.machine.free_port(), nonce=context.ids.new()
    )
    key = layout.claim(identity.key, identity.worker)
    if not _came_with_the_first(identity, context, pace):
        return None
    claimed = persist(context.clock, lambda: create_once(context.bucket, key, encode(claim)), pace.retry_s)
    if not claimed.mine:
        return None  # another start of this worker was first, or the bastion has given the worker up
    if persist(context.clock, lambda: has_left(context.bucket, identity.key.job), pace.retry_s):
        return None  # the claim was free only because the job ended long ago, and its claims were removed
    return claim


def _came_with_the_first(identity: WorkerIdentity, context: WorkerContext, pace: WorkerPace) -> bool:
    """Wait for the claim of the gang's first worker.

    Return True if it is of the same creation, or if that does not matter. Otherwise the gang would mix machines of two
    creations. A first worker that can never run means that the attempt was given up.
    """
    key = layout.claim(identity.key, 0)
    while identity.worker and identity.creation:
        try:
            data = persist(context.clock, lambda: context.bucket.read(key, RECORD_BYTES_MAX).data, pace.retry_s)
        except ObjectNotFound:
            if persist(context.clock, lambda: has_left(context.bucket, identity.key.job), pace.retry_s):
                return False
            context.clock.sleep(pace.order_s)
            continue
        first = decode(data, AnyClaim, key)
        return not first.void and identity.creation in re.split("[/.]", first.machine)
    return True
