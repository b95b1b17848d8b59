"""The version of this code, and of each form in which it writes into the bucket. Pure.

An object says by its number, `schema`, what has to be known to read it. A number is raised when who knows only the one
before would read the new form wrongly or not at all; what is new is left out where it says nothing, so that most of what
is written stays readable. What was ever written is read for ever. See docs/decisions/0024-who-reads-whose-objects.md.
"""

from __future__ import annotations

VERSION = "0.1.0"

JOURNAL = 2
"""Of journal objects, and of what their events mean to the fold. 2: each holds the digest of the one before, and a decision
its rules."""
SNAPSHOT = 2
"""2: the state counts the bytes of a day's requests, and holds the digest of the newest journal object in it."""
TRACE = 1
STATUS = 2
"""2: it holds the digest of the newest journal object."""
ORDER = 1
STOP = 1
"""Raised only with care: the workers that run know the one before."""
WORLD = 1
"""The same."""
CLOCK = 1
CLAIM = 1
FACTS = 1
REQUEST = 1
SPEC = 2
"""Written only by a spec that uses a field of `bastion.model.job.spec.SINCE`; any other is of schema 1, as ever."""
CONFIG = 1


def is_newer(other: str) -> bool:
    """True if this is the version of a later release than ours; False for what is no version at all."""
    theirs = _numbers(other)
    return theirs is not None and theirs > (_numbers(VERSION) or ())


def _numbers(version: str) -> tuple[int, ...] | None:
    parts = version.split(".") if len(version) <= 32 else [""]
    return tuple(map(int, parts)) if all(part.isascii() and part.isdigit() for part in parts) else None
