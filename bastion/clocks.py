"""How far a clock is from the store's: an object is written, and the store's listing dates it. Two requests.

Whoever acts by the time asks first. A machine's clock may be days off, and what was begun or ended by it stays so.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from bastion import layout
from bastion.codec import encode
from bastion.errors import BucketError, OffTime
from bastion.ports import Bucket, Clock
from bastion.records import ClockNote
from bastion.wording import short

OFF_MAX_S = 60.0
"""A clock that is further off than this is not acted by."""

CLOSE_S = 5.0
"""An answer that took longer tells the time less well: it is asked for again."""

HEAL = "bastion recover --heal_time sets the journal right"

_TRIES = 5


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
class Reading:
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


class StoreClock:
    """The store's clock, as seen from this process. `problem` is why it stands by, since that time of the store's."""

    def __init__(self, bucket: Bucket, clock: Clock, host: str, pid: int) -> None:
        self._bucket, self._clock, self._host, self._pid = bucket, clock, host, pid
        self._problem, self._at = "", datetime.min

    def ask(self) -> Reading:
        """What time it is there; the object that is written says who asks, and why it stands by. Raises `BucketError`."""
        note = ClockNote(
            host=self._host,
            pid=self._pid,
            wall=self._clock.wall(),
            at=self._at if self._problem else None,
            problem=self._problem,
        )
        return read(self._bucket, self._clock, layout.CLOCK, encode(note))

    def held(self, journalled: datetime | None) -> Reading:
        """The same, if our clock and the journal's time are the store's. Raises `OffTime`, `BucketError`."""
        asked = self.ask()
        now = asked.least(self._clock.monotonic())
        self._problem, self._at = wrong(asked.off_s) or ahead(journalled, now), now
        if self._problem:
            raise OffTime(self._problem)
        return asked


def read(bucket: Bucket, clock: Clock, key: str, data: bytes) -> Reading:
    """Write this object, and have the store date it. The best of a few readings. Raises `BucketError`."""
    best: Reading | None = None
    for _ in range(_TRIES):
        found = _read(bucket, clock, key, data)
        if best is None or found.ended - found.began < best.ended - best.began:
            best = found
        if best.ended - best.began <= CLOSE_S:
            break
    assert best is not None
    return best


def _read(bucket: Bucket, clock: Clock, key: str, data: bytes) -> Reading:
    before, began = clock.wall(), clock.monotonic()
    bucket.write(key, data)
    stat = next(iter(bucket.list(key)), None)
    ended = clock.monotonic()
    if stat is None or stat.key != key:
        raise BucketError(f"{bucket.url}: {key} was written, and is not listed; see who deletes it")
    # By the monotonic clock: the wall's may be set right in between.
    moment = Moment(before, stat.modified, before + timedelta(seconds=ended - began))
    return Reading(stat.modified, began, ended, offset(moment))


class StoreTime:
    """The store's time, once it was read; from then on it flows with the monotonic clock. Before that nothing is told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: Reading | None = None

    @property
    def known(self) -> bool:
        """It was read."""
        return self._asked is not None

    def heed(self, asked: Reading) -> None:
        """It was read."""
        self._asked = asked

    def now(self) -> datetime | None:
        """The time; None before it is known."""
        return self.at(self._clock.monotonic())

    def at(self, monotonic: float) -> datetime | None:
        """What it was at this monotonic time; None before it is known."""
        return self._asked.least(monotonic) if self._asked else None


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
