"""Read the store's clock: write an object, and take its time from the store's listing. Two requests.

Code that acts by the time reads it first. A machine's clock may be days off, and what was started or ended by it cannot
be undone.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from ..model import layout
from ..model.clocks import ClockReading, WriteTime, ahead, offset, wrong
from ..model.codec import encode
from ..model.errors import BucketError, ClockMismatch
from ..model.interfaces import Bucket, Clock
from ..model.stored.records import ClockNote

CLOSE_S = 5.0
"""A reading that took more seconds than this is less exact, and is taken again."""

_TRIES = 5


class StoreClock:
    """The store's clock, as this process reads it.

    It remembers why this process stands by, and since which time of the store's.
    """

    def __init__(self, bucket: Bucket, clock: Clock, host: str, pid: int) -> None:
        self._bucket, self._clock, self._host, self._pid = bucket, clock, host, pid
        self._problem, self._at = "", datetime.min

    def ask(self) -> ClockReading:
        """Read the store's time. Raises `BucketError`.

        The object that it writes says which process asks, and why it stands by.
        """
        note = ClockNote(
            host=self._host,
            pid=self._pid,
            wall=self._clock.wall(),
            at=self._at if self._problem else None,
            problem=self._problem,
        )
        return read(self._bucket, self._clock, layout.CLOCK, encode(note))

    def held(self, journalled: datetime | None) -> ClockReading:
        """Read the store's time and compare it with our clock and the journal's time.

        Raises `ClockMismatch` if one of these differs from the store's too much, and `BucketError`.
        """
        asked = self.ask()
        now = asked.least(self._clock.monotonic())
        self._problem, self._at = wrong(asked.off_s) or ahead(journalled, now), now
        if self._problem:
            raise ClockMismatch(self._problem)
        return asked


def read(bucket: Bucket, clock: Clock, key: str, data: bytes) -> ClockReading:
    """Write this object and let the store date it. Return the best of a few readings. Raises `BucketError`."""
    best: ClockReading | None = None
    for _ in range(_TRIES):
        found = _read(bucket, clock, key, data)
        if best is None or found.ended - found.began < best.ended - best.began:
            best = found
        if best.ended - best.began <= CLOSE_S:
            break
    assert best is not None
    return best


def _read(bucket: Bucket, clock: Clock, key: str, data: bytes) -> ClockReading:
    before, began = clock.wall(), clock.monotonic()
    bucket.write(key, data)
    stat = next(iter(bucket.list(key)), None)
    ended = clock.monotonic()
    if stat is None or stat.key != key:  # the listing is by prefix: another key may come first
        raise BucketError(f"{bucket.url}: {key} was written, but is not listed; find out what deletes it")
    # Use the monotonic clock: the wall clock may be corrected in between.
    moment = WriteTime(before, stat.modified, before + timedelta(seconds=ended - began))
    return ClockReading(stat.modified, began, ended, offset(moment))


class StoreTime:
    """The store's time. After one reading it advances with the monotonic clock; before that it is None."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: ClockReading | None = None

    @property
    def known(self) -> bool:
        """Return True if the store's time was read."""
        return self._asked is not None

    def take(self, asked: ClockReading) -> None:
        """Take this reading."""
        self._asked = asked

    def now(self) -> datetime | None:
        """Return the store's time now, at least; None before it was read."""
        return self.at(self._clock.monotonic())

    def at(self, monotonic: float) -> datetime | None:
        """Return the store's time at this monotonic time, at least; None before it was read."""
        return self._asked.least(monotonic) if self._asked else None
