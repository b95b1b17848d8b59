"""Whom the default policy stops, and whom it does not."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from bastion.quota.resources import Resources
from tests.unit.quota.policy.fleet import NOW, ago, decide, hold, quota, started, stopped, stopping, want

HALVES = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})


def v4(amount: int) -> Resources:
    return {"v4": amount}


def test_a_reclaim_that_would_not_be_enough_stops_nobody() -> None:
    limits = quota({"v4": 8, "cpu": 4}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})
    holds = [hold("l1", "nlp", v4(8)), hold("l2", "nlp", {"cpu": 4})]
    answer = decide(limits, wants=[want("v1", "vision", {"v4": 4, "cpu": 1})], holds=holds)
    assert answer.stops == ()


def test_only_what_is_needed_stops_and_who_is_not_needed_after_all_is_spared() -> None:
    limits = quota({"v4": 16}, nlp={"v4": "0.25"}, vision={"v4": "0.75"})
    holds = [hold("big", "nlp", v4(12), age=50), hold("tiny", "nlp", v4(1), age=10)]
    answer = decide(limits, wants=[want("v1", "vision", v4(12))], holds=holds)
    assert stopped(answer) == [("big", 0)]


def test_what_stops_already_is_counted_before_anybody_else_is_stopped() -> None:
    holds = [hold("l1", "nlp", v4(4), age=9), stopping(hold("l2", "nlp", v4(4), age=5))]
    answer = decide(HALVES, wants=[want("v1", "vision", v4(4))], holds=holds)
    assert answer.stops == ()
    assert "first in line" in answer.reasons["v1"]


def test_what_stops_already_is_no_longer_borrowed() -> None:
    limits = quota({"v4": 12}, c={"v4": "0.34"}, nlp={"v4": "0.33"}, vision={"v4": "0.33"})
    holds = [hold("l1", "nlp", v4(4)), stopping(hold("l2", "nlp", v4(4))), hold("x1", "x", v4(4))]
    wants = [want("v1", "vision", v4(4), order=1), want("c1", "c", v4(4), order=2)]
    assert stopped(decide(limits, wants=wants, holds=holds, reclaims=("v1",))) == [("x1", 0)]


def test_who_loses_least_gives_first_and_only_while_its_project_borrows() -> None:
    limits = quota({"v4": 20}, a={"v4": "0.2"}, b={"v4": "0.2"}, c={"v4": "0.6"})
    holds = [
        hold("a-old", "a", v4(2), age=900),
        hold("a-young", "a", v4(2), age=10),
        hold("a-big", "a", v4(6), age=600),
        hold("b1", "b", v4(10), age=300),
    ]
    ask = [want("c1", "c", v4(2))]
    assert stopped(decide(limits, wants=ask, holds=holds)) == [("a-young", 0)]
    within = [replace(row, project="c") if row.project == "a" and row.job != "a-old" else row for row in holds]
    assert stopped(decide(limits, wants=ask, holds=within)) == [("b1", 0)], "a is within its share"


def test_of_those_that_lose_as_much_the_largest_gives_first_and_then_who_ran_longest() -> None:
    limits = quota({"v4": 16}, a={"v4": "0.25"}, c={"v4": "0.75"})
    runs = [("small", 2, 5000.0), ("large", 4, 900.0), ("largest", 4, 3000.0), ("shrimp", 1, 9000.0)]
    holds = [replace(hold(name, "a", v4(n), age=age), saved=ago(n)) for name, n, age in runs]
    assert stopped(decide(limits, wants=[want("c1", "c", v4(9))], holds=holds)) == [("largest", 0)]


def test_a_job_that_is_wholly_borrowed_gives_before_one_that_is_so_in_part() -> None:
    limits = quota({"v4": 12}, a={"v4": "0.34"}, b={"v4": "0.33"}, c={"v4": "0.33"})
    holds = [hold("a1", "a", v4(6), age=10), hold("b1", "b", v4(4), age=9000), hold("b2", "b", v4(2), age=9000)]
    assert stopped(decide(limits, wants=[want("c1", "c", v4(2))], holds=holds)) == [("b2", 0)]


def test_a_checkpoint_makes_a_victim_and_past_stops_spare_one() -> None:
    holds = [hold("l1", "nlp", v4(4), age=9000), hold("l2", "nlp", v4(4), age=300)]
    ask = [want("v1", "vision", v4(4))]
    assert stopped(decide(HALVES, wants=ask, holds=holds)) == [("l2", 0)]
    saved = [replace(holds[0], saved=ago(60)), holds[1]]
    answer = decide(HALVES, wants=ask, holds=saved)
    assert (stopped(answer), answer.stops[0].lost_s) == ([("l1", 0)], 60.0)
    often = [replace(saved[0], stops=3), holds[1]]
    assert stopped(decide(HALVES, wants=ask, holds=often)) == [("l2", 0)]


def test_scavengers_are_stopped_first_and_stop_nobody() -> None:
    holds = [hold("l1", "nlp", v4(4), age=5), replace(hold("l2", "nlp", v4(4), age=9000), job_class=2)]
    ask = want("v1", "vision", v4(4))
    assert stopped(decide(HALVES, wants=[ask], holds=holds)) == [("l2", 0)]
    assert stopped(decide(HALVES, wants=[replace(ask, job_class=2)], holds=holds)) == []


def test_an_urgent_want_beyond_its_share_has_borrowers_of_a_worse_class_stopped() -> None:
    holds = [hold("l1", "nlp", v4(4), age=5), hold("l2", "nlp", v4(4), age=900)]
    ask = want("x1", "x", v4(2))
    assert stopped(decide(HALVES, wants=[ask], holds=holds)) == []
    assert stopped(decide(HALVES, wants=[replace(ask, job_class=0)], holds=holds)) == [("l1", 0)]
    assert stopped(decide(HALVES, wants=[replace(ask, job_class=0, demand=v4(5))], holds=holds)) == [], "4 are promised"


def test_nobody_is_stopped_for_what_ends_by_its_time_limit_as_soon_as_a_stop_would_free_it() -> None:
    holds = [hold("l1", "nlp", v4(4), age=10), replace(hold("l2", "nlp", v4(4)), until=NOW + timedelta(seconds=20))]
    ask = [want("v1", "vision", v4(4))]
    answer = decide(HALVES, wants=ask, holds=holds)
    assert (answer.stops, answer.again) == ((), NOW + timedelta(seconds=30))
    later = [holds[0], replace(holds[1], until=NOW + timedelta(seconds=40))]
    assert stopped(decide(HALVES, wants=ask, holds=later)) == [("l1", 0)]


def test_what_comes_free_by_time_limits_for_a_promised_want_is_not_lent_meanwhile() -> None:
    """Else it would never fit, where there is always something that ends soon."""
    holds = [hold("l1", "nlp", v4(3), age=10), replace(hold("l2", "nlp", v4(4)), until=NOW + timedelta(seconds=20))]
    wants = [want("v1", "vision", v4(4)), want("l3", "nlp", v4(1))]
    answer = decide(HALVES, wants=wants, holds=holds)
    assert (answer.starts, answer.stops) == ((), ())
    assert started(decide(HALVES, wants=wants, holds=holds, rules=4)) == ["l3"]
    assert started(decide(HALVES, wants=wants[1:], holds=holds)) == ["l3"]


def test_who_should_have_ended_by_now_is_waited_for_no_longer_than_a_stop_takes() -> None:
    ask = [want("v1", "vision", v4(4))]
    for late_s, expected in ((29, []), (31, [("l1", 0)])):
        late = replace(hold("l1", "nlp", v4(5), age=600), until=NOW - timedelta(seconds=late_s))
        assert stopped(decide(HALVES, wants=ask, holds=[late])) == expected


def test_a_project_within_its_share_gives_nothing_even_to_one_below_its_own() -> None:
    limits = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})
    holds = [hold("l1", "nlp", v4(4)), hold("x", "nobody", v4(2)), hold("v0", "vision", v4(1))]
    answer = decide(limits, wants=[want("v1", "vision", v4(3))], holds=holds)
    assert stopped(answer) == [("x", 0)]


def test_a_want_over_the_share_stops_nobody_of_another_project() -> None:
    holds = [hold("l1", "nlp", v4(8))]
    assert decide(HALVES, wants=[want("v1", "vision", v4(5))], holds=holds).stops == ()
    assert decide(HALVES, wants=[want("x", "nobody", v4(1))], holds=holds).stops == ()


def test_a_more_important_want_takes_from_its_own_project_after_the_delay() -> None:
    holds = [
        hold("l1", "nlp", v4(4), priority=3, age=900),
        hold("l2", "nlp", v4(2), priority=5, age=8),
        hold("l3", "nlp", v4(2), priority=2, age=7),
    ]
    urgent = want("hot", "nlp", v4(2), user="bob", priority=2)
    answer = decide(HALVES, wants=[urgent], holds=holds)
    assert stopped(answer) == [("l2", 0)]
    assert answer.stops[0].reason == (
        "stopped for nlp/hot (bob): priority 2 goes before priority 5; the cheapest to stop of 2, it loses 8 s of work"
    )
    assert decide(HALVES, wants=[replace(urgent, priority=5)], holds=holds).stops == ()
    assert decide(HALVES, wants=[replace(urgent, since=ago(1))], holds=holds).stops == ()
    assert decide(HALVES, wants=[replace(urgent, demand=v4(7))], holds=holds).stops == ()


def test_a_pool_that_shrank_takes_from_borrowers_only_the_cheapest_first() -> None:
    holds = [
        hold("l1", "nlp", v4(2), age=900),
        hold("l2", "nlp", v4(2), age=5),
        hold("l3", "nlp", v4(2), age=500),
        hold("v1", "vision", v4(2), age=1),
    ]
    answer = decide(HALVES, holds=holds, capacity=(v4(4),))
    assert stopped(answer) == [("l2", 0), ("l3", 0)]
    assert answer.stops[0].for_job is None
    assert answer.stops[0].reason == (
        "the capacity shrank: nlp borrowed 4 v4 over its share of 2; the cheapest to stop of 4, it loses 5 s of work"
    )
    held = [stopping(row) if row.job in ("l2", "l3") else row for row in holds]
    assert decide(HALVES, holds=held, capacity=(v4(4),)).stops == ()
