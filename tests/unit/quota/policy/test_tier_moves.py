"""What runs counts to a tier: best first, promoted without a restart, and no worse one than its job takes."""

from __future__ import annotations

from msgspec.structs import replace

from bastion.quota.demand import Move, Start
from bastion.quota.resources import Resources
from tests.unit.quota.policy.fleet import decide, hold, quota, want

HALVES = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})


def v4(amount: int) -> Resources:
    return {"v4": amount}


def test_what_runs_is_promoted_to_an_idle_better_tier_and_the_most_important_first() -> None:
    limits = quota(v4(4), v4(8), a={"v4": "1"})
    holds = [hold("a1", "a", v4(4), tier=1, age=900), hold("a2", "a", v4(4), tier=1, age=9, priority=1)]
    answer = decide(limits, holds=holds)
    assert (answer.starts, answer.stops, answer.moves) == ((), (), (Move("a2", 0, 0),))
    assert decide(limits, holds=[replace(holds[0], stopping=True)]).moves == ()
    assert decide(limits, wants=[want("a3", "a", v4(4))], holds=holds[:1]).moves == (), "who waits goes first"


def test_who_takes_a_worse_tier_makes_room_in_a_better_one_without_a_restart() -> None:
    limits = quota(v4(4), v4(4), a={"v4": "1"})
    ask = replace(want("a2", "a", v4(4)), max_tier=0)
    there = replace(hold("a1", "a", v4(4), tier=0), max_tier=1)
    answer = decide(limits, wants=[ask], holds=[there])
    assert (answer.starts, answer.stops, answer.moves) == ((Start("a2", 0),), (), (Move("a1", 0, 1),))
    stays = decide(limits, wants=[ask], holds=[replace(there, max_tier=0)])
    assert (stays.starts, stays.moves) == ((), ())


def test_a_want_takes_no_worse_tier_than_it_says() -> None:
    limits = quota(v4(4), v4(4), a={"v4": "1"})
    ask = replace(want("a2", "a", v4(2)), max_tier=0)
    holds = [replace(hold("a1", "a", v4(4), tier=0), max_tier=0)]
    answer = decide(limits, wants=[ask], holds=holds)
    assert answer.starts == ()
    assert answer.reasons["a2"] == (
        "needs 2 v4, 4 of 8 free, but not in tier 0 or better: --max_tier=1 would take more"
    )
    assert decide(limits, wants=[replace(ask, max_tier=1)], holds=holds).starts == (Start("a2", 1),)
    assert decide(limits, wants=[replace(ask, demand=v4(6))]).reasons["a2"].endswith("it can never start")


def test_tiers_are_filled_best_first_and_a_running_job_never_moves() -> None:
    limits = quota(v4(4), v4(4), a={"v4": "0.5"}, b={"v4": "0.5"})
    answer = decide(limits, wants=[want("a1", "a", v4(3), order=0), want("b1", "b", v4(3), order=1)])
    assert answer.starts == (Start("a1", 0), Start("b1", 1))
    answer = decide(limits, wants=[want("b2", "b", v4(1), order=2)], holds=[hold("b1", "b", v4(3), tier=1)])
    assert (answer.starts, answer.stops) == ((Start("b2", 0),), ())
