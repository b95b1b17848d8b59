"""The store's clock: an object is written, and the store's listing dates it. Two requests.

Whoever acts by the time asks first. A machine's clock may be days off, and what was begun or ended by it stays so.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from ..model import layout
from ..model.clocks import ClockReading, Moment, ahead, offset, wrong
from ..model.codec import encode
from ..model.errors import BucketError, OffTime
from ..model.interfaces import Bucket, Clock
from ..model.stored.records import ClockNote

CLOSE_S = 5.0
"""An answer that took longer tells the time less well: it is asked for again."""

_TRIES = 5


class StoreClock:
    """The store's clock, as seen from this process. `problem` is why it stands by, since that time of the store's."""

    def __init__(self, bucket: Bucket, clock: Clock, host: str, pid: int) -> None:
        self._bucket, self._clock, self._host, self._pid = bucket, clock, host, pid
        self._problem, self._at = "", datetime.min

    def ask(self) -> ClockReading:
        """What time it is there; the object that is written says who asks, and why it stands by. Raises `BucketError`."""
        note = ClockNote(
            host=self._host,
            pid=self._pid,
            wall=self._clock.wall(),
            at=self._at if self._problem else None,
            problem=self._problem,
        )
        return read(self._bucket, self._clock, layout.CLOCK, encode(note))

    def held(self, journalled: datetime | None) -> ClockReading:
        """The same, if our clock and the journal's time are the store's. Raises `OffTime`, `BucketError`."""
        asked = self.ask()
        now = asked.least(self._clock.monotonic())
        self._problem, self._at = wrong(asked.off_s) or ahead(journalled, now), now
        if self._problem:
            raise OffTime(self._problem)
        return asked


def read(bucket: Bucket, clock: Clock, key: str, data: bytes) -> ClockReading:
    """Write this object, and have the store date it. The best of a few readings. Raises `BucketError`."""
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
    if stat is None or stat.key != key:
        raise BucketError(f"{bucket.url}: {key} was written, and is not listed; see who deletes it")
    # By the monotonic clock: the wall's may be set right in between.
    moment = Moment(before, stat.modified, before + timedelta(seconds=ended - began))
    return ClockReading(stat.modified, began, ended, offset(moment))


class StoreTime:
    """The store's time, once it was read; from then on it flows with the monotonic clock. Before that nothing is told."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._asked: ClockReading | None = None

    @property
    def known(self) -> bool:
        """It was read."""
        return self._asked is not None

    def heed(self, asked: ClockReading) -> None:
        """It was read."""
        self._asked = asked

    def now(self) -> datetime | None:
        """The time; None before it is known."""
        return self.at(self._clock.monotonic())

    def at(self, monotonic: float) -> datetime | None:
        """What it was at this monotonic time; None before it is known."""
        return self._asked.least(monotonic) if self._asked else None
