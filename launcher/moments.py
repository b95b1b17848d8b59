"""Moments as people write them: `10m` ago, `+2h` from now, `14:00`, or as RFC 3339 has it. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from bastion.model.errors import UsageError

from .durations import seconds

_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")


def moment(text: str, now: datetime, what: str = "--since") -> datetime:
    """`10m` ago, `09:30` as it was last in UTC, or a time as RFC 3339 has it. Raises `UsageError` naming `what`."""
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
    """`+2h` from now, the next `14:00` UTC, or a time as RFC 3339 has it. Raises `UsageError` naming `what`."""
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
    return now.astimezone(UTC).replace(
        hour=int(match[1]), minute=int(match[2]), second=int(match[3] or 0), microsecond=0
    )


def _instant(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
        return None if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
