"""The seal that proves that this bastion made a machine. A name proves nothing: anyone who can read one can write one.

Half of the nonce in a machine's name is random. The other half is a digest of it and of what the machine is made for,
keyed with 32 bytes in `seal.key`, which only the bastion reads.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ..model import layout
from ..model.errors import BucketError, ObjectNotFound, RunnerError, TooLarge
from ..model.interfaces import Bucket, Ids
from .create_once import create_once

_KEY = re.compile(rb"[0-9a-f]{64}")
_HALF = 16
_BYTES_MAX = 1024


@dataclass(slots=True)
class KeyedSeal:
    """A maker of nonces that can tell its own from others.

    load: returns the key; called once, when the key is first needed.
    ids: source of the random halves.
    """

    load: Callable[[], bytes]
    ids: Ids
    _key: bytes = field(default=b"", repr=False)

    def nonce(self, *made_for: object) -> str:
        """Return a new nonce for a machine that is made for this: 32 hexadecimal characters.

        Raises `RunnerError` without a key.
        """
        half = self.ids.new()[:_HALF]
        return half + self._proof(half, made_for)

    def proves(self, nonce: str, *made_for: object) -> bool:
        """Return True if a nonce was made here, for exactly this. Raises `RunnerError` without a key."""
        half, proof = nonce[:_HALF], nonce[_HALF:]
        return hmac.compare_digest(proof.encode(), self._proof(half, made_for).encode())

    def _proof(self, half: str, made_for: tuple[object, ...]) -> str:
        self._key = self._key or self.load()
        text = "\x1f".join((half, *map(str, made_for)))
        return hmac.new(self._key, text.encode(), "sha256").hexdigest()[:_HALF]


def key_in(bucket: Bucket, ids: Ids) -> bytes:
    """Return the key of a bastion's part of the store. The first call makes it. Raises `RunnerError` if that fails."""
    try:
        try:
            key = bucket.read(layout.SEAL, _BYTES_MAX).data
        except ObjectNotFound:
            key = create_once(bucket, layout.SEAL, (ids.new() + ids.new()).encode()).stored
    except TooLarge:
        key = b""
    except BucketError as error:
        raise RunnerError(f"{layout.SEAL} cannot be read, so machines cannot be recognised: {error}") from error
    key = key.strip()  # in some stores an object has a tail of blanks
    if not _KEY.fullmatch(key):
        raise RunnerError(
            f"{layout.SEAL} is damaged: remove it, and the bastion makes another; claimed machines stay known"
        )
    return key
