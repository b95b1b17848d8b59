"""Check which keys a bucket takes, and map them to paths below the folder of a local bucket, and back. Pure.

One rule holds for all stores, so that what works on one works on the others.

In a folder, a key is its path, as it is: `journal/000000000001.json` is a file of this name in a folder `journal`. Two
cases need more. An object and a folder may want the same name (`a` and `a/b`): then the object is set aside, as
`a%object`. And a part of a key that already ends in one of our marks gets `%part` at its end, so that every name has
one meaning.
"""

from __future__ import annotations

import re

from ..model.errors import BastionError, TooLarge

LONGEST_KEY = 900
"""The longest key, in bytes of UTF-8. The stores' limit is 1,024, and a bucket's own prefix needs room."""

LONGEST_PART = 240
"""The longest part between two slashes, in bytes of UTF-8.

File systems take 255, and a local bucket adds a mark to some parts.
"""

PAGE = 1000
"""The objects in one answer to a list request."""

ASIDE = b"%object"
PRIVATE = b"%private"
"""The folder of half-written files and of the lock. No key can name it: a part `%private` becomes `%private%part`."""

_PART = b"%part"
_MARKS = (ASIDE, PRIVATE, _PART)

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def check_key(key: str) -> None:
    """Raise `BastionError` unless `key` can name an object."""
    _refuse("key", key, _flaw(key) or _flaw_of_parts(key.split("/")))


def check_prefix(prefix: str) -> None:
    """Raise `BastionError` unless some key could begin with `prefix`."""
    folder = prefix.rpartition("/")[0]
    _refuse("prefix", prefix, _flaw(prefix) or (_flaw_of_parts(folder.split("/")) if "/" in prefix else None))


def is_key(text: str) -> bool:
    """Return True if `text` can name an object. Strangers put other things into buckets; listings leave them out."""
    return (_flaw(text) or _flaw_of_parts(text.split("/"))) is None


def check_size(size: int, key: str, limit: int | None, owner: int | None = None) -> None:
    """Raise `TooLarge` for an object of more than `limit` bytes; the error names the account that put it there."""
    if limit is not None and size > limit:
        large = TooLarge(f"{key} is too large; at most {limit} bytes are allowed")
        large.owner = owner
        raise large


def _refuse(what: str, text: str, flaw: str | None) -> None:
    if flaw:
        raise BastionError(f"{what} is {text[:100]!r}; {flaw}")


def _flaw(text: str) -> str | None:
    if _CONTROL.search(text):
        return "leave out control characters"
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "use text that UTF-8 can carry"
    return f"use at most {LONGEST_KEY} bytes, this has {size}" if size > LONGEST_KEY else None


def _flaw_of_parts(parts: list[str]) -> str | None:
    if any(part in ("", ".", "..") for part in parts):
        return "no part between slashes may be empty, '.' or '..'"
    longest = max(len(part.encode()) for part in parts)
    return f"use at most {LONGEST_PART} bytes between slashes, this has {longest}" if longest > LONGEST_PART else None


def path_of(key: str) -> bytes:
    """Return the path of a valid key, relative to the bucket's folder."""
    return b"/".join(_name(part.encode()) for part in key.split("/"))


def part_of(name: bytes) -> tuple[str, bool] | None:
    """Return (part of a key, True for an object set aside) for a name on the disk; None if it is not one of ours."""
    aside = name.endswith(ASIDE)
    name = name.removesuffix(ASIDE) if aside else name
    part = name.removesuffix(_PART)
    if not part or _name(part) != name or len(part) > LONGEST_PART:
        return None
    try:
        return part.decode(), aside
    except UnicodeDecodeError:
        return None


def _name(part: bytes) -> bytes:
    return part + _PART if part.endswith(_MARKS) else part
