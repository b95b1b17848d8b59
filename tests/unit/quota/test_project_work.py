"""The work of projects agrees with a naive recount: exactly while tables are short, and nearly so for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.model.codec import decode, encode, readable
from bastion.quota.project_work import FORGOTTEN, ROWS, KindWork, ProjectWork, WorkTable, hold, moment, rank_number
from tests.depth import examples

LAW = settings(max_examples=examples(100), derandomize=True, deadline=None)
NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
S = 1_000_000

ERROR_MAX = 0.1
"""The largest part of a sum that may be missing once rows are merged."""

readable(KindWork, dict[str, ProjectWork])


@dataclass
class Attempt:
    """Of a job at a place in the journal; times in microseconds."""

    order: int
    start: int
    units: int
    rank: int = 0
    end: int | None = None

    def used(self, since: int, now: int) -> int:
        end = now if self.end is None else min(self.end, now)
        return self.units * max(0, end - max(self.start, since))


def used(attempts: Iterable[Attempt], now: int, since: int = 0) -> int:
    return sum(each.used(since, now) for each in attempts)


_Spans = list[tuple[int, int, int, int, int]]
_spans = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 500), st.integers(0, 300), st.integers(1, 8), st.integers(1, 3)),
    min_size=1,
    max_size=60,
)


LAST = 600 * S
"""A moment after all starts; some of the attempts still run then."""


def told(spans: _Spans) -> tuple[KindWork, list[Attempt]]:
    """The work by these attempts (order, start, length, units, rank), and the attempts."""
    attempts = [
        Attempt(order, S * begin, units, rank, S * (begin + length) if S * (begin + length) <= LAST else None)
        for order, begin, length, units, rank in spans
    ]
    starts = [(each.start, number, +1) for number, each in enumerate(attempts)]
    ends = [(each.end, number, -1) for number, each in enumerate(attempts) if each.end is not None]
    kept = KindWork()
    for now, number, sign in sorted([*starts, *ends], key=lambda row: (row[0], row[1], -row[2])):
        each = attempts[number]
        kept.hold(each.rank, each.order, each.start, sign * each.units, now)
    return kept, attempts


@LAW
@given(_spans)
def test_short_tables_are_exact(spans: _Spans) -> None:
    kept, attempts = told(spans)
    for now in (LAST, LAST + 77 * S):
        assert kept.used(now) == used(attempts, now)
        for rank in {each.rank for each in attempts}:
            own = [each for each in attempts if each.rank == rank]
            for order in range(-1, 42):
                assert kept.orders[rank].after(order, now) == used((e for e in own if e.order > order), now)
            for start in range(-S, 502 * S, 7 * S):
                assert kept.starts[rank].after(start, now) == used((e for e in own if e.start > start), now)
    for then in range(0, 600, 7):
        assert kept.used_by(then * S) == used(attempts, then * S), "also between two known moments"


@LAW
@given(
    st.lists(st.tuples(st.integers(0, 99), st.integers(-9, 9), st.integers(0, 10**6)), max_size=ROWS),
    st.randoms(use_true_random=False),
)
def test_short_tables_are_the_same_in_whatever_order_rows_are_entered(
    rows: list[tuple[int, int, int]], random: Random
) -> None:
    one, other = WorkTable(), WorkTable()
    for count, row in enumerate(rows, 1):
        one.hold(*row)
        later = sum(units * (10**6 - at) for key, units, at in rows[:count] if key > 50)
        assert one.after(50, 10**6) == later, "however often it is asked"
    for row in random.sample(rows, len(rows)):
        other.hold(*row)
    assert one == other


def stream(random: Random, count: int, order: Callable[[int], int]) -> tuple[KindWork, list[Attempt]]:
    """The work of so many attempts, some of which still run; each starts a second after the one before."""
    kept, attempts, running = KindWork(), list[Attempt](), list[Attempt]()
    for number in range(count):
        for each in [each for each in running if random.random() < 1 / 60]:
            each.end = number * S
            kept.hold(0, each.order, each.start, -each.units, each.end)
            running.remove(each)
        attempts.append(Attempt(order(number), number * S, random.choice((1, 1, 1, 2, 8))))
        running.append(attempts[-1])
        kept.hold(0, attempts[-1].order, number * S, attempts[-1].units, number * S)
    return kept, attempts


ORDERS: dict[str, Callable[[Random, int], int]] = {
    "as they came": lambda random, number: number,
    "backwards": lambda random, number: -number,
    "some long after they came": lambda random, number: number - int(random.expovariate(1 / 300)),
    "in any order": lambda random, number: random.randrange(10**6),
}


@pytest.mark.parametrize("how", ORDERS)
def test_long_tables_never_say_too_much_and_little_too_little(how: str) -> None:
    random = Random(how)
    kept, attempts = stream(random, 3_000, lambda number: ORDERS[how](random, number))
    now = 3_000 * S
    for each in random.sample(attempts, 40) + attempts[-100:]:
        later = used((other for other in attempts if other.order > each.order), now)
        assert (1 - ERROR_MAX) * later <= kept.orders[0].after(each.order, now) <= later
        younger = used((other for other in attempts if other.start > each.start), now)
        assert (1 - ERROR_MAX) * younger <= kept.starts[0].after(each.start, now) <= younger
        total = used(attempts, now, each.start)
        assert abs(kept.used(now) - kept.used_by(each.start) - total) <= ERROR_MAX * total
    assert kept.used_by(-S) == 0


def test_tables_stay_short() -> None:
    kept, _ = stream(Random(1), 3_000, lambda number: number)
    assert all(len(table.low) <= ROWS for table in (kept.orders[0], kept.starts[0]))
    assert len(kept.moments) == len(kept.uses) <= ROWS
    assert len(encode(kept)) < 30_000


def test_a_thousand_that_start_at_once_are_told_apart() -> None:
    """Nothing is used yet when the rows are merged, so what they hold decides."""
    kept = KindWork()
    for order in range(1_000):
        kept.hold(0, order, 0, 1, 0)
    for order in range(999):
        assert (999 - order) * (1 - ERROR_MAX) <= kept.orders[0].after(order, S) / S <= 999 - order
    assert kept.starts[0].after(-1, S) == 1_000 * S


def test_a_clock_that_goes_back_undoes_no_work() -> None:
    kept = KindWork()
    kept.hold(0, 1, 100 * S, 4, 100 * S)
    kept.hold(0, 2, 160 * S, 4, 160 * S)
    kept.hold(0, 1, 100 * S, -4, 40 * S)  # it ends by a clock that was set back
    assert kept.used(160 * S) == 240 * S
    assert kept.orders[0].after(0, 200 * S) == (240 + 160) * S
    assert kept.used_by(40 * S) == 0
    assert kept.moments == sorted(kept.moments)


@LAW
@given(_spans)
def test_a_snapshot_on_the_way_changes_nothing(spans: _Spans) -> None:
    kept, _ = told(spans)
    again = decode(encode(kept), KindWork, "work")
    for one in (kept, again):
        one.hold(2, 17, LAST, 3, LAST)
        one.hold(9, 18, LAST + S, 1, LAST + S)
    assert encode(again) == encode(kept)
    assert again.used(LAST + 9 * S) == kept.used(LAST + 9 * S)


def test_the_longest_table_survives_a_snapshot() -> None:
    kept, _ = stream(Random(2), 600, lambda number: 10**12 * number)
    kept.hold(1, 10**15, 600 * S, 10**9, moment(NOON))
    again = decode(encode(kept), KindWork, "work")
    assert again == kept
    assert min(kept.orders[1].base) < -(2**63), "whole numbers have no end"


def entered(work: dict[str, ProjectWork], project: str, sign: int, now: datetime, start: datetime = NOON) -> None:
    hold(work, project, {"v4": 2, "cpu": 0}, sign, rank=0, order=1, start=start, now=now)


def test_a_project_that_held_nothing_for_a_week_is_forgotten_and_no_other() -> None:
    work: dict[str, ProjectWork] = {}
    entered(work, "gone", +1, NOON)
    entered(work, "gone", -1, NOON + timedelta(hours=1))
    entered(work, "runs", +1, NOON)
    late = NOON + timedelta(hours=1) + FORGOTTEN
    for _ in range(3):
        entered(work, "other", +1, late)
    assert set(work) == {"gone", "runs", "other"}
    for _ in range(3):
        entered(work, "other", +1, late + timedelta(seconds=1))
    assert set(work) == {"runs", "other"}
    assert set(work["runs"].kinds) == {"v4"}, "what is not asked for is not kept"


def test_a_thousand_projects_that_come_and_go_are_not_kept() -> None:
    work: dict[str, ProjectWork] = {}
    for number in range(1_000):
        now = NOON + timedelta(days=number)
        entered(work, f"p{number}", +1, now, now)
        entered(work, f"p{number}", -1, now + timedelta(hours=1), now)
    assert len(work) < 20


def test_the_better_class_goes_before_any_priority() -> None:
    ranks = [rank_number(job_class, priority) for job_class in range(3) for priority in (1, 5, 99)]
    assert ranks == sorted(set(ranks))
