"""The difference between a clock and the store's clock, and its messages. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from .durations import short

OFF_MAX_S = 60.0
"""The most seconds that a clock may be off. Nothing is done by a clock that is further off."""

HEAL = "bastion recover --heal_time sets the journal right"


@dataclass(frozen=True, slots=True)
class WriteTime:
    """The time at which an object was written.

    before: this machine's time before the write.
    stored: the store's time of the write.
    after: this machine's time after it.
    """

    before: datetime
    stored: datetime
    after: datetime


def offset(moment: WriteTime) -> float:
    """Return the seconds to add to this machine's clock to get the store's.

    0 if the difference is within the time that the request took, or within the store's whole seconds.
    """
    if moment.stored > moment.after:
        return (moment.stored - moment.after).total_seconds()
    # a store that keeps whole seconds may date a write up to a second too early
    return -max(0.0, (moment.before - moment.stored).total_seconds() - 1.0)


@dataclass(frozen=True, slots=True)
class ClockReading:
    """One reading of the store's time.

    stored: the store's time, as it was somewhere between `began` and `ended`.
    began: monotonic time before the request, in seconds.
    ended: monotonic time after the answer, in seconds.
    off_s: seconds to add to the wall clock to get the store's time.
    """

    stored: datetime
    began: float
    ended: float
    off_s: float

    def least(self, monotonic: float) -> datetime:
        """Return the earliest that the store's time can be now."""
        return self.stored + timedelta(seconds=monotonic - self.ended)

    def most(self, monotonic: float) -> datetime:
        """Return the latest that the store's time can be now.

        It adds a second, because some stores keep whole seconds.
        """
        return self.stored + timedelta(seconds=monotonic - self.began + 1.0)


def wrong(off_s: float) -> str:
    """Describe what is wrong with this machine's clock; empty if it may be used."""
    if abs(off_s) <= OFF_MAX_S:
        return ""
    return f"the clock of this machine is {words(off_s)} the store's: set it, for example by NTP; see bastion doctor"


def ahead(journalled: datetime | None, now: datetime) -> str:
    """Describe a journal whose end lies after this time of the store's; empty if it may be followed."""
    off = (journalled - now).total_seconds() if journalled else 0.0
    if off <= OFF_MAX_S:
        return ""
    return f"the journal's time is {short(off)} ahead of the store's; bastion doctor names the wrong clock, and " + HEAL


def words(off_s: float) -> str:
    """Return `3d0h behind` or `1m5s ahead of`, for this many seconds to add."""
    return f"{short(abs(off_s))} {'behind' if off_s > 0 else 'ahead of'}"
