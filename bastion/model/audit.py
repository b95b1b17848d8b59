"""The user and the time of an action with a lasting effect. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time with its zone, so that it can be compared with others."""

_YEARS = 2, 9_998


def movable(*moments: datetime | None) -> None:
    """Raise `ValueError` for a time at the end of the calendar, which cannot be moved to another zone.

    A wrong clock may write such a time.
    """
    if any(moment is not None and not _YEARS[0] <= moment.year <= _YEARS[1] for moment in moments):
        raise ValueError(f"Expected a time of the years {_YEARS[0]} to {_YEARS[1]}")


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """The user and the time of an action with a lasting effect.

    user: the user who did it.
    at: when.
    """

    user: str
    at: Moment

    def __str__(self) -> str:
        """Return `alice since 2026-01-31T09:30:00Z`."""
        return f"{self.user} since {since(self)}"


def since(stamp: Stamp) -> str:
    """Return the time as `2026-01-31T09:30:00Z`."""
    return f"{stamp.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
