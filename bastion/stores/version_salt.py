"""Make equal bytes differ, for stores whose version of an object is a hash of its content. Pure.

Each write adds a tail of blanks of its own: 96 spaces and tabs, which spell a nonce and a checksum. So JSON stays JSON,
TOML stays TOML, and a log reads as before. Objects that other programs wrote have no tail, and are left as they are.
"""

from __future__ import annotations

import zlib

LENGTH = 96
NONCE_BYTES = 8

_BLANKS = {ord("0"): " ", ord("1"): "\t"}
_BITS = bytes.maketrans(b" \t", b"01")


def add(data: bytes, nonce: bytes) -> bytes:
    """Return the bytes to store. `nonce` has 8 bytes and is new with every write."""
    spelled = f"{int.from_bytes(nonce + _check(nonce, len(data))):0{LENGTH}b}"
    return data + spelled.translate(_BLANKS).encode()


def strip(stored: bytes) -> bytes:
    """Return the data that was given to `add`; all of `stored` if it has no tail."""
    tail = stored[-LENGTH:]
    if len(tail) < LENGTH or tail.strip(b" \t"):
        return stored
    said = int(tail.translate(_BITS), 2).to_bytes(LENGTH // 8)
    nonce, check = said[:NONCE_BYTES], said[NONCE_BYTES:]
    return stored[:-LENGTH] if check == _check(nonce, len(stored) - LENGTH) else stored


def size(stored: int) -> int:
    """Return the size of the data, from the size of what is stored. For other programs' objects it is 96 too small."""
    return stored - LENGTH if stored >= LENGTH else stored


def _check(nonce: bytes, length: int) -> bytes:
    return zlib.crc32(nonce + length.to_bytes(8)).to_bytes(4)
