"""The clock is held against the store's before anything is done by it, and the time of decisions stays the store's."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from bastion.journal.leadership import LeaderTime
from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import BucketError, ClockMismatch
from bastion.model.interfaces import Stat
from bastion.model.stored.events import Epoch
from bastion.model.stored.records import ClockNote
from bastion.platform import store_clock
from bastion.platform.store_clock import StoreClock
from bastion.service import loop
from bastion.service.maintenance import CLOCK_S, ServiceContext
from tests.support.doors import FaultyBucket, memory
from tests.support.town import ME, Town
from tests.support.world import NOON, HandClock

DAYS = 3 * 86_400.0


class Dated(FaultyBucket):
    """A bucket whose listings date all by this clock, which is `off_s` ahead of the machine's."""

    def __init__(self, clock: HandClock, off_s: float = 0.0) -> None:
        super().__init__(memory())
        self.clock, self.off_s = clock, off_s

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        now = self.clock.wall() + timedelta(seconds=self.off_s)
        for stat in super().list(prefix, after=after):
            yield Stat(stat.key, stat.version, stat.size, now)


class TimedTown(Town):
    """A town that knows the store's time; it has no bastion until one begins."""

    def __init__(self, off_s: float = 0.0) -> None:
        self.off_s = off_s
        super().__init__()

    def begin(self) -> Any:
        self.dated = Dated(self.clock, self.off_s)
        self.bucket = self.dated
        return None

    def doors(self) -> ServiceContext:
        doors = super().doors()
        return ServiceContext(
            **{name: getattr(doors, name) for name in doors.__slots__ if name != "store_clock"},
            store_clock=StoreClock(self.bucket, self.clock, "here", 7),
        )

    def note(self) -> ClockNote:
        return decode(self.bucket.inner.read(layout.CLOCK).data, ClockNote, layout.CLOCK)

    def epochs(self) -> list[int]:
        return [event.epoch for event in self.journal() if isinstance(event, Epoch)]


@pytest.mark.parametrize(
    ("off_s", "begins"), [(0, True), (55, True), (-55, True), (70, False), (-DAYS, False), (DAYS, False)]
)
def test_a_clock_that_is_more_than_a_minute_off_takes_no_epoch(off_s: float, begins: bool) -> None:
    town = TimedTown(off_s)
    if begins:
        bastion = loop.begin(town.doors(), ME, 1.0)
        assert bastion.time.now() == town.clock.wall() + timedelta(seconds=off_s), "it goes by the store's time"
    else:
        with pytest.raises(ClockMismatch, match=r"the clock of this machine is .* the store's"):
            loop.begin(town.doors(), ME, 1.0)
    assert town.epochs() == ([1] if begins else [])


def test_a_begin_costs_two_requests_for_the_time() -> None:
    town = TimedTown()
    loop.begin(town.doors(), ME, 1.0)
    assert [call for call in town.bucket.calls if call[1] == layout.CLOCK] == [
        ("write", layout.CLOCK),
        ("list", layout.CLOCK),
    ]


def test_one_whose_clock_is_wrong_stands_by_says_why_and_begins_when_it_is_right(
    caplog: pytest.LogCaptureFixture,
) -> None:
    town = TimedTown(-DAYS - 2)
    caplog.set_level(logging.WARNING, "bastion")
    told: list[str] = []

    def stopping() -> bool:
        if town.clock.wall() > NOON + timedelta(seconds=60):
            told.append(town.note().problem)
            town.dated.off_s = 0.0
        return False

    assert loop.take_up(town.doors(), ME, stopping, takeover=True)
    assert told[0].startswith("the clock of this machine is 3d ahead of the store's"), "for bastion status"
    assert len([record for record in caplog.records if "standing by" in record.message]) == 1
    assert town.epochs() == [1]


def test_one_that_stands_by_for_its_clock_can_be_stopped() -> None:
    town = TimedTown(DAYS)
    assert loop.take_up(town.doors(), ME, lambda: town.clock.wall() > NOON + timedelta(seconds=60)) is None
    assert town.epochs() == []


def test_a_journal_that_is_ahead_of_the_store_is_not_followed() -> None:
    town = TimedTown()
    loop.begin(town.doors(), ME, 1.0)
    town.dated.off_s = -DAYS
    town.clock.now -= DAYS  # both are right now, and were three days ahead
    town.dated.off_s = 0.0
    with pytest.raises(
        ClockMismatch, match=r"the journal's time is 3d ahead .*; bastion doctor .* recover --heal_time"
    ):
        loop.begin(town.doors(), ME, 1.0)


def test_a_reading_that_took_long_is_taken_again() -> None:
    clock = HandClock()
    dated = Dated(clock)

    def slow(_verb: str, _key: str) -> None:
        clock.now += 30

    dated.faults = [slow]
    found = store_clock.read(dated, clock, "x", b"")
    assert found.ended - found.began < 1
    assert found.least(clock.monotonic()) == clock.wall()
    assert len(dated.calls) == 4


def test_an_object_that_is_not_listed_tells_no_time() -> None:
    bucket = FaultyBucket(memory())
    bucket.list = lambda prefix, *, after="": iter(())  # type: ignore[method-assign, assignment]
    with pytest.raises(BucketError, match="was written, but is not listed"):
        store_clock.read(bucket, HandClock(), "x", b"")


def _time(clock: HandClock) -> LeaderTime:
    return LeaderTime(clock, None, store_clock.read(Dated(clock), clock, "x", b""))


def _corrected(time: LeaderTime, clock: HandClock, off_s: float) -> float:
    return time.correct(store_clock.read(Dated(clock, off_s), clock, "x", b""))


def test_a_time_that_ran_fast_stands_still_until_the_stores_has_come() -> None:
    clock = HandClock()
    time = _time(clock)
    clock.now += 300
    before = time.now()
    assert _corrected(time, clock, -12.0) == 0
    assert time.now() == before
    clock.now += 12
    assert timedelta(seconds=0) <= time.now() - before <= timedelta(seconds=1)
    clock.now += 100
    assert time.now() - before >= timedelta(seconds=99), "and then it flows"


def test_a_time_that_ran_slow_is_made_good_and_a_jump_of_the_stores_is_not_followed() -> None:
    clock = HandClock()
    time = _time(clock)
    clock.now += 300
    before = time.now()
    assert _corrected(time, clock, 12.0) == 0
    assert time.now() - before == timedelta(seconds=12)
    assert _corrected(time, clock, DAYS) == pytest.approx(DAYS - 12, abs=2)
    assert time.now() - before == timedelta(seconds=12)


def test_the_time_is_held_to_the_stores_while_it_runs() -> None:
    town = TimedTown()
    town.bastion = loop.begin(town.doors(), ME, 1.0)
    town.dated.off_s = DAYS
    town.ticks(2)
    asked = len([call for call in town.bucket.calls if call[1] == layout.CLOCK])
    assert asked == 2, "none a tick"
    town.ticks(3, every=CLOCK_S)
    (problem,) = [text for text in town.status().problems if text.startswith("clock:")]
    assert "3d behind the store's" in problem
    assert town.bastion.time.now() < datetime.max.replace(tzinfo=NOON.tzinfo) - timedelta(days=1)
    assert town.bastion.time.now() - NOON < timedelta(days=1)
