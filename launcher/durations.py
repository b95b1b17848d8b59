"""Durations as people write and read them: `90s`, `1h30m`, `2d`. Pure."""

from __future__ import annotations

import re

from bastion.model.errors import UsageError
from bastion.model.wording import UNITS
from bastion.model.wording import short as short

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(d|h|m|s)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def seconds(text: str, what: str) -> float:
    """Return the duration in seconds. Raises `UsageError`, whose message starts with `what`."""
    if text == "0":
        return 0.0
    if len(text) > 64 or not _WHOLE.fullmatch(text):
        raise UsageError(f"{what} is {text[:64]!r}; use a number and a unit, as in 90s, 30m, 1h or 2d")
    return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))
