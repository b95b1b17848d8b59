"""References to secrets: `secret:NAME` in place of a variable's value. Only the machines have the value. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

PREFIX = "secret:"
NAME_MAX = 128
_NAME = re.compile(rf"[A-Za-z0-9_](?:[A-Za-z0-9._-]{{0,{NAME_MAX - 2}}}[A-Za-z0-9_])?")
_GOOGLES = re.compile(
    r"projects/[a-z0-9][a-z0-9.:-]{0,62}/secrets/[A-Za-z0-9_-]{1,255}(?:/versions/[A-Za-z0-9_-]{1,63})?"
)


def wanted(env: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the secrets that variables refer to, by variable."""
    return {variable: text.removeprefix(PREFIX) for variable, text in env.items() if text.startswith(PREFIX)}


def is_googles(name: str) -> bool:
    """Return True if Google's Secret Manager keeps the secret of this name; otherwise a machine keeps it."""
    return "/" in name


def fault(text: str) -> str | None:
    """Return what is wrong with a reference; None if it is fine, or if the value is a plain value.

    The text never repeats the value: a user may have put a secret itself there, and it must not get into a journal.
    """
    if not text.startswith(PREFIX):
        return None
    name = text.removeprefix(PREFIX)
    if (_GOOGLES if is_googles(name) else _NAME).fullmatch(name) and ".." not in name:
        return None
    return (
        f"is {PREFIX} without a valid name; use {PREFIX}NAME, 1 to {NAME_MAX} letters, digits, '.', '_' and '-',"
        f" or {PREFIX}projects/PROJECT/secrets/NAME, with /versions/VERSION if it is not to be the latest"
    )
