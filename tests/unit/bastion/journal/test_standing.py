"""The time that decisions see flows on, however the wall clock jumps, and over restarts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from bastion.journal.leadership import LeaderTime

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Clock:
    """Both clocks of a machine, apart."""

    def __init__(self) -> None:
        self.wall_now, self.monotonic_now = NOON, 1000.0

    def wall(self) -> datetime:
        return self.wall_now

    def monotonic(self) -> float:
        return self.monotonic_now

    def sleep(self, seconds: float) -> None:
        self.monotonic_now += seconds


JUMPS = st.lists(st.tuples(st.floats(0, 1e6), st.integers(-(10**8), 10**8), st.booleans()))


@given(JUMPS)
def test_it_never_goes_back_and_runs_as_fast_as_the_monotonic_clock(jumps: list[tuple[float, int, bool]]) -> None:
    """Each step: some time passes, the wall clock jumps, and perhaps the bastion is started anew."""
    clock = Clock()
    time = LeaderTime(clock, None)
    seen = time.now()
    for passed, jump, restart in jumps:
        clock.monotonic_now += passed
        clock.wall_now += timedelta(seconds=passed + jump)
        if restart:
            time = LeaderTime(clock, seen)
            assert time.now() == max(seen, clock.wall_now)
        else:
            assert abs(time.now() - seen - timedelta(seconds=passed)) < timedelta(milliseconds=1)
        assert time.now() >= seen
        seen = time.now()
