"""Who did something that lasts, and when. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import msgspec

Moment = Annotated[datetime, msgspec.Meta(tz=True)]
"""A time that can be compared with others: its zone is said."""

_YEARS = 2, 9_998


def movable(*moments: datetime | None) -> None:
    """Raise `ValueError` for a time at the end of the calendar, which cannot be moved to another zone. Clocks may be wrong."""
    if any(moment is not None and not _YEARS[0] <= moment.year <= _YEARS[1] for moment in moments):
        raise ValueError(f"Expected a time of the years {_YEARS[0]} to {_YEARS[1]}")


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """Who did something that lasts, and when."""

    user: str
    at: Moment

    def __str__(self) -> str:
        """`alice since 2026-01-31T09:30:00Z`."""
        return f"{self.user} since {since(self)}"


def since(stamp: Stamp) -> str:
    """`2026-01-31T09:30:00Z`."""
    return f"{stamp.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
