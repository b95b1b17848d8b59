"""Durations as people write and read them: `90s`, `1h30m`, `2d`. Pure."""

from __future__ import annotations

import re

from .errors import UsageError

UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
"""Units of lengths of time, in seconds."""


_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(d|h|m|s)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")


def short(length_s: float) -> str:
    """Return a length of time for people in its two largest units: `3h12m`, `41s`, `2d4h`. A negative one is `0s`."""
    left = max(0, int(length_s))
    parts = []
    for unit, size in UNITS.items():
        number, left = divmod(left, int(size))
        parts.append((number, unit))
    first = next((i for i, (number, _) in enumerate(parts) if number), len(parts) - 1)
    shown = [f"{number}{unit}" for number, unit in parts[first : first + 2] if number]
    return "".join(shown) or "0s"


def seconds(text: str, what: str) -> float:
    """Return the duration in seconds. Raises `UsageError`, whose message starts with `what`."""
    if text == "0":
        return 0.0
    if len(text) > 64 or not _WHOLE.fullmatch(text):
        raise UsageError(f"{what} is {text[:64]!r}; use a number and a unit, as in 90s, 30m, 1h or 2d")
    return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))
