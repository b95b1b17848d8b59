"""The version of this code, and of each form that it writes into the bucket. Pure.

The number `schema` of an object says what a reader must know to read it. Raise a number when a reader that knows only
the number before would read the new form wrongly, or not at all. New fields are left out at their defaults, so that
most objects stay readable for older readers; the schemas of a job spec are in `bastion.model.job.spec.SINCE`. Every form
that was ever written stays readable. See docs/decisions/0024-who-reads-whose-objects.md.
"""

from __future__ import annotations

VERSION = "0.1.0"

JOURNAL = 2
"""The schema of journal objects, and of what their events mean to the fold.

2: each object holds the digest of the one before, and a decision holds its rules.
"""
SNAPSHOT = 3
"""2: the state counts the bytes of a day's requests, and holds the digest of its newest journal object.

3: the state holds the work of each project.
"""
TRACE = 1
STATUS = 2
"""2: the status holds the digest of the newest journal object."""
ORDER = 1
STOP = 1
"""Raise it only with care: running workers know only the number before."""
WORLD = 1
"""Raise it only with care, as `STOP`."""
CLOCK = 1
CLAIM = 1
FACTS = 1
REQUEST = 1
CONFIG = 1


def is_newer(other: str) -> bool:
    """Return True if this is the version of a later release than ours; False if it is no version."""
    theirs = _numbers(other)
    return theirs is not None and theirs > (_numbers(VERSION) or ())


def _numbers(version: str) -> tuple[int, ...] | None:
    parts = version.split(".") if len(version) <= 32 else [""]
    return tuple(map(int, parts)) if all(part.isascii() and part.isdigit() for part in parts) else None
