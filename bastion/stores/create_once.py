"""Create an object once, and know whose it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..model.errors import BucketError, Denied, Full, Missing, NoBucket, TooLarge
from ..model.interfaces import Bucket
from ..model.stored.records import PAPER_BYTES_MAX

_TRIES = 5
_ASKED = 3

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Once:
    """What stands in the bucket after a create. `mine`: it is what we wrote. A stranger's that is too large is not `stored`."""

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
            found = bucket.read(key, max(len(data), PAPER_BYTES_MAX))
        except Missing:
            continue  # deleted since it refused us: the key is free again
        except TooLarge:
            return Once(False, b"", "")
        return Once(found.data == data, found.data, found.version)
    raise BucketError(f"{bucket.url}: {key!r} was taken and gone {_TRIES} times in a row; see who deletes it")


def settled(write: Callable[[], T]) -> T:
    """What a write that may be made again answers, made again while its outcome is unknown: three times, each as patient as
    the store's client. Raises `BucketError`: a refusal says that nothing was written, any other that nobody knows.
    """
    for _ in range(_ASKED - 1):
        try:
            return write()
        except (Denied, Full, NoBucket):
            raise
        except BucketError:
            continue
    return write()
