"""Durations and times as people write and read them. Pure.

A duration is `90s`, `1h30m` or `2d`. A time is `10m` ago, `+2h` from now, `14:00`, or in RFC 3339.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from .errors import UsageError

UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0}
"""Units of lengths of time, in seconds."""

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(d|h|m|s)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")


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


def moment(text: str, now: datetime, what: str = "--since") -> datetime:
    """Parse a time in the past, and return it in UTC.

    `10m` means 10 minutes ago, `09:30` the last 09:30 UTC. A time in RFC 3339 with its zone may also lie in the future.
    Raises `UsageError`, whose message starts with `what`.
    """
    if match := _CLOCK.fullmatch(text):
        today = _today(match, now)
        return today if today <= now else today - timedelta(days=1)
    try:
        if not text[:4].isdigit() or "-" not in text:
            return now - timedelta(seconds=seconds(text.removeprefix("-").removesuffix(" ago"), what))
    except OverflowError:
        pass
    if found := _instant(text):
        return found
    raise UsageError(
        f"{what} is {text[:64]!r}; use 10m, 09:30 (UTC), or a time with its zone, as in 2026-01-31T09:30:00Z"
    )


def coming(text: str, now: datetime, what: str) -> datetime:
    """Parse a time in the future, and return it in UTC.

    `+2h` means 2 hours from now, `14:00` the next 14:00 UTC. A time in RFC 3339 with its zone may also lie in the past.
    Raises `UsageError`, whose message starts with `what`.
    """
    if match := _CLOCK.fullmatch(text):
        today = _today(match, now)
        return today if today > now else today + timedelta(days=1)
    try:
        if text.startswith("+"):
            return now.astimezone(UTC).replace(microsecond=0) + timedelta(seconds=seconds(text[1:], what))
    except OverflowError:
        pass
    if found := _instant(text):
        return found
    raise UsageError(
        f"{what} is {text[:64]!r}; use +2h, 14:00 for the next 14:00 UTC, or a time with its zone, as in "
        "2026-01-31T09:30:00Z"
    )


def _today(match: re.Match[str], now: datetime) -> datetime:
    # Callers move the result by a day where it lies on the wrong side of now.
    return now.astimezone(UTC).replace(
        hour=int(match[1]), minute=int(match[2]), second=int(match[3] or 0), microsecond=0
    )


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
