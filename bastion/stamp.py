"""Who did something that lasts, and when. Pure."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """Who did something that lasts, and when."""

    user: str
    at: datetime

    def __str__(self) -> str:
        """`alice since 2026-01-31T09:30:00Z`."""
        return f"{self.user} since {since(self)}"


def since(stamp: Stamp) -> str:
    """`2026-01-31T09:30:00Z`."""
    return f"{stamp.at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
