"""Create an object once, and know whose it is."""

from __future__ import annotations

from dataclasses import dataclass

from bastion.errors import BucketError, Missing
from bastion.ports import Bucket

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Once:
    """What stands in the bucket after a create. `mine`: it is what we wrote."""

    mine: bool
    stored: bytes
    version: str


def create_once(bucket: Bucket, key: str, data: bytes) -> Once:
    """Write an object that must not exist yet, and settle a refusal by reading back.

    A store's client asks again when an answer is lost, and is then refused by its own object. So put a nonce into
    `data`: equal bytes are ours. Raises `BucketError` if the outcome is unknown, also if the object keeps vanishing.
    """
    for _ in range(_TRIES):
        version = bucket.create(key, data)
        if version is not None:
            return Once(True, data, version)
        try:
            found = bucket.read(key)
        except Missing:
            continue  # deleted since it refused us: the key is free again
        return Once(found.data == data, found.data, found.version)
    raise BucketError(f"{bucket.url}: {key!r} was taken and gone {_TRIES} times in a row; see who deletes it")
