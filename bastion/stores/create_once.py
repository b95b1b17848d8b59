"""Create an object once, and learn whether it is ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from ..model.errors import AccessDenied, BucketError, BucketNotFound, ObjectNotFound, StoreFull, TooLarge
from ..model.interfaces import Bucket
from ..model.stored.records import RECORD_BYTES_MAX

_TRIES = 5
_ASKED = 3

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class CreateResult:
    """The object that is in the bucket after a create.

    mine: it is what we wrote.
    stored: its content; empty for a stranger's that is too large.
    version: its version; "" for a stranger's that is too large.
    """

    mine: bool
    stored: bytes
    version: str


def create_once(bucket: Bucket, key: str, data: bytes) -> CreateResult:
    """Write an object that must not exist yet. If the store refuses, read back to learn whose object is there.

    A store's client retries when an answer is lost, and then its own object may make the store refuse. So put a nonce
    into `data`: equal bytes are ours. Raises `BucketError` if the outcome is unknown, also if the object keeps
    vanishing.
    """
    for _ in range(_TRIES):
        version = bucket.create(key, data)
        if version is not None:
            return CreateResult(True, data, version)
        try:
            found = bucket.read(key, max(len(data), RECORD_BYTES_MAX))
        except ObjectNotFound:
            continue  # it was deleted after the refusal: the key is free again
        except TooLarge:
            return CreateResult(False, b"", "")
        return CreateResult(found.data == data, found.data, found.version)
    raise BucketError(
        f"{bucket.url}: {key!r} was created and deleted {_TRIES} times in a row; find out what deletes it"
    )


def settled(write: Callable[[], T]) -> T:
    """Make a write that may be repeated, up to three times while its outcome is unknown, and return its answer.

    Each time is as patient as the store's client. Raises `BucketError`: `AccessDenied`, `StoreFull` and `BucketNotFound` say that
    nothing was written; after any other, the outcome is unknown.
    """
    for _ in range(_ASKED - 1):
        try:
            return write()
        except (AccessDenied, StoreFull, BucketNotFound):
            raise
        except BucketError:
            continue
    return write()
