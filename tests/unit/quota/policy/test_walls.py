"""A wall between tiers: what a task has is all on one side of it, and so is what is freed and kept for it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from bastion.quota.demand import Holding, Move, Want
from bastion.quota.policy.reasons import impossible
from bastion.quota.tiers import Capacity
from tests.unit.quota.policy.fleet import NOW, decide, hold, quota, started, stopped, want

HALVES = quota({"h100": 8}, {"h100": 8}, red={"h100": "0.5"}, blue={"h100": "0.5"})
WALLED, OPEN = Capacity(HALVES.tiers, (1,)), Capacity(HALVES.tiers)


def asks(job: str, units: int, *, project: str = "red", max_tier: int | None = None) -> Want:
    return replace(want(job, project, {"h100": units}), max_tier=max_tier)


def holds(job: str, units: int, tier: int, project: str = "blue") -> Holding:
    return hold(job, project, {"h100": units}, tier=tier)


def test_a_task_fits_on_one_side_or_not_at_all() -> None:
    half = [holds("a", 4, 0), holds("b", 4, 1)]
    assert started(decide(HALVES, wants=[asks("j", 8)], holds=half, capacity=OPEN)) == ["j"]
    assert started(decide(HALVES, wants=[asks("j", 8)], holds=half, capacity=WALLED, delay=9999)) == []
    [start] = decide(HALVES, wants=[asks("j", 8)], holds=half[:1], capacity=WALLED).starts
    assert (start.job, start.tier) == ("j", 1)


def test_the_best_side_that_will_do_is_taken_and_no_worse_one_than_is_asked_for() -> None:
    assert [start.tier for start in decide(HALVES, wants=[asks("j", 4)], capacity=WALLED).starts] == [0]
    full = [holds("a", 8, 0)]
    assert [start.tier for start in decide(HALVES, wants=[asks("j", 4)], holds=full, capacity=WALLED).starts] == [1]
    here = decide(HALVES, wants=[asks("j", 4, max_tier=0)], holds=full, capacity=WALLED, delay=9999)
    assert here.starts == ()
    assert here.reasons["j"] == (
        "needs 4 h100, 0 of 8 free in tier 0, but not in tier 0 or better: --max_tier=1 would take more"
    )


def test_whoever_is_stopped_for_a_want_has_what_it_lacks_on_one_side() -> None:
    """Without the wall one of 4 would do; with it, of those that borrow, both on one side."""
    held = [holds("a", 4, 0), holds("b", 4, 0), holds("c", 8, 1)]
    answer = decide(HALVES, wants=[asks("j", 8)], holds=held, capacity=WALLED)
    assert stopped(answer) == [("a", 0), ("b", 0)]
    assert stopped(decide(HALVES, wants=[asks("j", 8, max_tier=0)], holds=held, capacity=WALLED)) == [
        ("a", 0),
        ("b", 0),
    ]
    split = [holds("a", 4, 0), holds("mine", 4, 0, "red"), holds("c", 4, 1), holds("d", 4, 1, "red")]
    assert stopped(decide(HALVES, wants=[asks("j", 8)], holds=split, capacity=WALLED)) == []


def test_room_is_kept_on_the_side_where_it_is_freed() -> None:
    """The free half of the other side is for others."""
    going = [replace(holds("a", 8, 0), stopping=True), holds("b", 4, 1)]
    wants = [asks("j", 8), asks("k", 4, project="blue")]
    answer = decide(HALVES, wants=wants, holds=going, reclaims=("j",), capacity=WALLED)
    assert [(start.job, start.tier) for start in answer.starts] == [("k", 1)]
    assert answer.reasons["j"].startswith("first in line: waiting for 8 h100 in tier 0 being freed by blue (ann/a)")


def test_nothing_moves_across_a_wall() -> None:
    """What runs is promoted to an idle tier of its own side, and makes room there only."""
    worse = [replace(holds("a", 4, 1), max_tier=1)]
    assert decide(HALVES, holds=worse, capacity=OPEN).moves == (Move("a", 0, 0),)
    assert decide(HALVES, holds=worse, capacity=WALLED).moves == ()
    three = quota({"h100": 4}, {"h100": 4}, {"h100": 4})
    assert decide(three, holds=[holds("a", 4, 2)], capacity=Capacity(three.tiers, (1,))).moves == (Move("a", 0, 1),)
    inside = [replace(holds("a", 4, 1), max_tier=2)]
    answer = decide(
        three, wants=[asks("j", 8, max_tier=1)], holds=inside, capacity=Capacity(three.tiers, (1,)), delay=9999
    )
    assert (answer.starts, answer.moves) == ((), ())
    here = [holds("full", 4, 0), *inside]
    one = decide(three, wants=[asks("j", 4, max_tier=1)], holds=here, capacity=Capacity(three.tiers, (1,)))
    assert (one.moves, [(start.job, start.tier) for start in one.starts]) == ((Move("a", 0, 2),), [("j", 1)])


def test_who_shrank_takes_back_on_its_own_side_only() -> None:
    """One side holds more than there is, the other has room."""
    shrunk = Capacity(({"h100": 4}, {"h100": 16}), (1,))
    held = [holds("a", 4, 0), holds("b", 4, 0), holds("c", 12, 1)]
    assert stopped(decide(HALVES, holds=held, capacity=shrunk)) == [("a", 0)]


def test_what_is_larger_than_each_side_can_never_start() -> None:
    answer = decide(HALVES, wants=[asks("j", 12)], capacity=WALLED)
    assert answer.starts == ()
    assert answer.reasons["j"] == "asks for 12 h100 but no runner's tiers hold more than 8: it can never start"
    assert impossible((("h100", 8), ("v4", 4)), ({"h100": 8}, {"v4": 4})) == (
        "asks for 8 h100 and 4 v4 but no runner's tiers hold all of it: it can never start"
    )
    assert impossible((("h100", 8),), ({"h100": 4}, {"h100": 8})) is None


def test_the_reason_tells_what_is_free_on_each_side() -> None:
    held = [holds("a", 4, 0), holds("b", 6, 1)]
    answer = decide(HALVES, wants=[asks("j", 6)], holds=held, capacity=WALLED, delay=9999)
    assert answer.reasons["j"].startswith("needs 6 h100, 4 of 8 free in tier 0, 2 of 8 free in tier 1")


def test_of_what_is_shut_on_a_side_nothing_is_given_there_and_nobody_is_stopped_for_it() -> None:
    shut = Capacity(HALVES.tiers, (1,), (frozenset({"h100"}), frozenset()))
    assert [start.tier for start in decide(HALVES, wants=[asks("j", 8)], capacity=shut).starts] == [1]
    assert decide(HALVES, wants=[asks("j", 8, max_tier=0)], capacity=shut).starts == ()
    lent = [holds("a", 8, 0), holds("b", 4, 1)]
    assert stopped(decide(HALVES, wants=[asks("j", 4, max_tier=0)], holds=lent, capacity=shut)) == []


@pytest.mark.parametrize(("capacity", "tiers"), [(OPEN, {0, 1}), (WALLED, {0})])
def test_an_overdue_gang_calls_in_what_was_lent_on_one_side(capacity: Capacity, tiers: set[int]) -> None:
    held = [hold(f"h{n}", "blue", {"h100": 2}, tier=n % 2, age=60, order=n) for n in range(8)]
    gang = replace(want("gang", "red", {"h100": 8}, waited=4 * 86_400), since=NOW - timedelta(days=4))
    gave = [
        name
        for name, _ in stopped(decide(HALVES, wants=[gang], holds=held, capacity=capacity, patience=3600, delay=1e9))
    ]
    assert (len(gave), {int(name[1:]) % 2 for name in gave}) == (4, tiers)
