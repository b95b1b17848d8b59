"""Replace files that admins edit in the bucket, only if nobody else changed them meanwhile."""

from __future__ import annotations

from bastion.model.errors import ObjectNotFound, VersionConflict
from bastion.model.interfaces import Bucket
from bastion.stores.create_once import create_once, settled


def exchange(bucket: Bucket, key: str, data: bytes, version: str | None) -> None:
    """Write `data` in place of the version that was read. `version` None: there was no object.

    Raises `VersionConflict` if somebody else changed the object meanwhile. A lost answer is not mistaken for that: an object
    that holds exactly `data` is ours, because its audit line names its author and time.
    """

    def put() -> bool:
        if version is None:
            return create_once(bucket, key, data).mine
        # A refused write may be our own earlier one, if its answer was lost.
        return bucket.replace(key, data, version) is not None or _holds(bucket, key, data)

    if not settled(put):
        raise VersionConflict(f"somebody else changed {key} meanwhile; look at the change and try again")


def _holds(bucket: Bucket, key: str, data: bytes) -> bool:
    try:
        return bucket.read(key).data == data
    except ObjectNotFound:
        return False
