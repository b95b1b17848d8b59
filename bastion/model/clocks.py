"""How far a clock is from the store's, and what to say of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from .wording import short

OFF_MAX_S = 60.0
"""A clock that is further off than this is not acted by."""

HEAL = "bastion recover --heal_time sets the journal right"


@dataclass(frozen=True, slots=True)
class Moment:
    """When an object was written: not before, by the store's clock, not after. Its own clock is on both sides."""

    before: datetime
    stored: datetime
    after: datetime


def offset(moment: Moment) -> float:
    """Seconds to add to this machine's clock to get the store's; 0 within what the request took and whole seconds."""
    if moment.stored > moment.after:
        return (moment.stored - moment.after).total_seconds()
    return -max(0.0, (moment.before - moment.stored).total_seconds() - 1.0)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The store's time as it was `stored`, somewhere between these two monotonic times. `off_s` is to be added to the wall's."""

    stored: datetime
    began: float
    ended: float
    off_s: float

    def least(self, monotonic: float) -> datetime:
        """The store's time now, at least."""
        return self.stored + timedelta(seconds=monotonic - self.ended)

    def most(self, monotonic: float) -> datetime:
        """The store's time now, at most; a second more, for stores that date by whole ones."""
        return self.stored + timedelta(seconds=monotonic - self.began + 1.0)


def wrong(off_s: float) -> str:
    """What to say of this machine's clock; empty if it may be acted by."""
    if abs(off_s) <= OFF_MAX_S:
        return ""
    return f"the clock of this machine is {words(off_s)} the store's: set it, as by NTP; see bastion doctor"


def ahead(journalled: datetime | None, now: datetime) -> str:
    """What to say of a journal whose end lies after this time of the store's; empty if it may be followed."""
    off = (journalled - now).total_seconds() if journalled else 0.0
    if off <= OFF_MAX_S:
        return ""
    return f"the journal's time is {short(off)} ahead of the store's; bastion doctor names the wrong clock, and " + HEAL


def words(off_s: float) -> str:
    """`3d0h behind` or `1m5s ahead of`, for so many seconds to add."""
    return f"{short(abs(off_s))} {'behind' if off_s > 0 else 'ahead of'}"
