"""Map keys to paths below the folder of a local bucket, and back. Pure.

A key is its path, as it is: `journal/000000000001.json` is a file of this name in a folder `journal`. Two cases need
more. An object and a folder may want the same name (`a` and `a/b`): then the object is set aside, as `a%object`. And a
part of a key that already ends in one of our marks gets `%part` at its end, so that every name has one meaning.
"""

from __future__ import annotations

from .keys import LONGEST_PART

ASIDE = b"%object"
PRIVATE = b"%private"
"""The folder of half-written files and of the lock. No key can name it: a part `%private` becomes `%private%part`."""

_PART = b"%part"
_MARKS = (ASIDE, PRIVATE, _PART)


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
