"""Makes equal bytes differ, for stores whose version of an object is a hash of its content. Pure.

Each write adds a tail of blanks that is its own: 96 spaces and tabs, which spell a nonce and a checksum. So JSON stays
JSON, TOML stays TOML, and a log reads as before. What other hands wrote has no tail, and is left as it is.
"""

from __future__ import annotations

import zlib

LENGTH = 96
NONCE_BYTES = 8

_BLANKS = {ord("0"): " ", ord("1"): "\t"}
_BITS = bytes.maketrans(b" \t", b"01")


def add(data: bytes, nonce: bytes) -> bytes:
    """The bytes to store. `nonce` has 8 bytes and is new with every write."""
    spelled = f"{int.from_bytes(nonce + _check(nonce, len(data))):0{LENGTH}b}"
    return data + spelled.translate(_BLANKS).encode()


def strip(stored: bytes) -> bytes:
    """What was given to `add`; all of it if it never was."""
    tail = stored[-LENGTH:]
    if len(tail) < LENGTH or tail.strip(b" \t"):
        return stored
    said = int(tail.translate(_BITS), 2).to_bytes(LENGTH // 8)
    nonce, check = said[:NONCE_BYTES], said[NONCE_BYTES:]
    return stored[:-LENGTH] if check == _check(nonce, len(stored) - LENGTH) else stored


def size(stored: int) -> int:
    """The size of what was given to `add`, by that of what is stored. Of other hands' objects 96 bytes are left out."""
    return stored - LENGTH if stored >= LENGTH else stored


def _check(nonce: bytes, length: int) -> bytes:
    return zlib.crc32(nonce + length.to_bytes(8)).to_bytes(4)
