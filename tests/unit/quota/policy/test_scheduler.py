"""The default policy leaves alone what runs, lends what is idle, takes it back whole, and says why everything waits."""

from __future__ import annotations

from dataclasses import replace as replace_dataclass
from datetime import timedelta

import pytest
from msgspec.structs import replace

from bastion.quota.demand import Start
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from tests.unit.quota.policy.fleet import NOW, ago, decide, hold, quota, started, stopped, stopping, want

HALVES = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})


def v4(amount: int) -> Resources:
    return {"v4": amount}


def test_the_story_of_a_borrowed_half_with_two_jobs() -> None:
    one, two = want("l1", "nlp", v4(4), order=1), want("l2", "nlp", v4(4), order=2)
    answer = decide(HALVES, wants=[one, two])
    assert started(answer) == ["l1", "l2"]

    holds = [hold("l1", "nlp", v4(4), order=1, age=600), hold("l2", "nlp", v4(4), order=2, age=500)]
    other = want("v1", "vision", v4(4), user="bob", order=3)
    answer = decide(HALVES, wants=[other], holds=holds)
    assert (started(answer), stopped(answer)) == ([], [("l2", 0)])
    assert answer.stops[0].for_job == "v1"
    assert answer.stops[0].reason == (
        "reclaimed for vision/v1 (bob): nlp borrowed 4 v4 over its share of 4; "
        "the cheapest to stop of 2, it loses 8 min of work"
    )
    assert answer.reasons["v1"] == "first in line: waiting for 4 v4 being freed by nlp (ann/l2)"

    going = [holds[0], stopping(holds[1])]
    answer = decide(HALVES, wants=[other], holds=going, reclaims=("v1",))
    assert (answer.starts, answer.stops) == ((), ())

    answer = decide(HALVES, wants=[other, two], holds=holds[:1], reclaims=("v1",))
    assert (started(answer), stopped(answer)) == (["v1"], [])

    both = [holds[0], hold("v1", "vision", v4(4), user="bob", order=3, age=10)]
    answer = decide(HALVES, wants=[two], holds=both)
    assert (answer.starts, answer.stops) == ((), ())
    assert (
        answer.reasons["l2"]
        == "needs 4 v4, 0 of 8 free; nlp would hold 8 v4, more than its share of 4, and none is idle to borrow"
    )

    answer = decide(HALVES, wants=[two], holds=both[:1])
    assert started(answer) == ["l2"]


def test_the_story_of_a_borrowed_half_with_one_array() -> None:
    array = want("arr", "nlp", v4(1), count=100)
    assert decide(HALVES, wants=[array]).starts == (Start("arr", 0),) * 8
    holds = [hold("arr", "nlp", v4(1), task=task, age=1000 * (8 - task)) for task in range(8)]
    answer = decide(HALVES, wants=[want("v1", "vision", v4(3), order=1), replace(array, count=92)], holds=holds)
    assert stopped(answer) == [("arr", 7), ("arr", 6), ("arr", 5)]
    assert answer.reasons["arr"].startswith("needs 1 v4, 0 of 8 free; ")
    assert "nlp holds 8 v4, more than its share of 4" in answer.reasons["arr"]


def test_an_array_within_its_share_reclaims_for_as_many_tasks_as_the_share_holds() -> None:
    holds = [hold(f"l{n}", "nlp", v4(1), age=1000 * n) for n in range(8)]
    array = want("arr", "vision", v4(1), count=10)
    answer = decide(HALVES, wants=[array], holds=holds)
    assert stopped(answer) == [(f"l{n}", 0) for n in range(4)]
    going = [*(stopping(row) for row in holds[1:4]), *holds[4:]]
    later = decide(HALVES, wants=[array], holds=going, reclaims=("arr",))
    assert (started(later), stopped(later)) == (["arr"], [])


def test_nobody_is_stopped_before_the_delay_and_the_answer_says_when_to_ask_again() -> None:
    holds = [hold("l1", "nlp", v4(8))]
    answer = decide(HALVES, wants=[want("v1", "vision", v4(4), waited=30)], holds=holds)
    assert answer.stops == ()
    assert answer.again == NOW + timedelta(seconds=60)
    assert (
        answer.reasons["v1"] == "needs 4 v4, 0 of 8 free; nlp (ann/l1) holds 8, borrows 4: may be reclaimed after 90 s"
    )
    assert decide(HALVES, wants=[want("v1", "vision", v4(4), waited=90)], holds=holds).stops


def test_what_is_free_and_being_freed_is_kept_for_who_is_first_in_line() -> None:
    holds = [stopping(hold("l1", "nlp", v4(4)))]
    wants = [want("v1", "vision", v4(6), order=1), want("c1", "vision", v4(4), order=0, priority=1, user="cy")]
    answer = decide(HALVES, wants=wants, holds=holds, reclaims=("v1",))
    assert (answer.starts, answer.stops) == ((), ())
    assert "first in line" in answer.reasons["c1"] or "more than its share" in answer.reasons["c1"]
    assert started(decide(HALVES, wants=wants, holds=[], reclaims=("v1",)))[0] == "v1"


THIRDS = quota({"v4": 12}, c={"v4": "0.34"}, vision={"v4": "0.33"})


def test_an_array_that_is_first_in_line_is_so_with_all_tasks_within_its_share() -> None:
    holds = [hold("x1", "x", v4(8)), stopping(hold("x2", "x", v4(2)))]
    wants = [want("arr", "vision", v4(2), order=2, count=4), want("c1", "c", v4(2), order=1)]
    answer = decide(THIRDS, wants=wants, holds=holds, reclaims=("arr",))
    assert started(answer) == ["arr"]
    assert [stop.for_job for stop in answer.stops] == ["c1"]


def test_an_array_that_is_first_in_line_is_so_with_no_task_beyond_its_share() -> None:
    holds = [hold("x1", "x", v4(4)), stopping(hold("x2", "x", v4(6)))]
    wants = [want("arr", "vision", v4(2), order=1, count=4), want("c1", "c", v4(4), order=2)]
    answer = decide(THIRDS, wants=wants, holds=holds, reclaims=("arr",))
    assert (started(answer), stopped(answer)) == (["arr"], [])


def test_who_is_first_in_line_and_cannot_fit_any_more_keeps_nothing_back() -> None:
    holds = [hold("l1", "nlp", v4(4))]
    wants = [want("v1", "vision", v4(8), order=1), want("l2", "nlp", v4(2), order=2)]
    assert started(decide(HALVES, wants=wants, holds=holds, reclaims=("v1",))) == ["l2"]


def test_two_wants_share_what_is_free_and_what_is_being_freed() -> None:
    limits = quota({"v4": 16}, a={"v4": "0.5"}, b={"v4": "0.5"})
    holds = [hold("x1", "x", v4(4)), stopping(hold("x2", "x", v4(8)))]
    wants = [want("a1", "a", v4(6), order=1), want("b1", "b", v4(6), order=2)]
    answer = decide(limits, wants=wants, holds=holds)
    assert (answer.starts, answer.stops) == ((), ())
    assert all("first in line" in reason for reason in answer.reasons.values())


def test_an_important_want_over_the_share_takes_from_nobody_if_its_own_juniors_are_not_enough() -> None:
    limits = quota({"v4": 8}, nlp={"v4": "0.25"}, vision={"v4": "0.75"})
    holds = [hold("l1", "nlp", v4(2)), hold("x1", "x", v4(6))]
    assert decide(limits, wants=[want("hot", "nlp", v4(4), priority=1)], holds=holds).stops == ()


def test_a_user_holds_no_more_than_the_limit_and_the_next_one_goes_first() -> None:
    limits = replace_dataclass(HALVES, user_limits={"nlp": v4(3)})
    wants = [want("l2", "nlp", v4(2), order=1), want("l3", "nlp", v4(2), order=2, user="bob")]
    answer = decide(limits, wants=wants, holds=[hold("l1", "nlp", v4(2))])
    assert started(answer) == ["l3"]
    assert answer.reasons["l2"] == "a user of nlp may hold 3 v4 at once, and ann holds 2"
    answer = decide(limits, wants=[want("l4", "nlp", v4(4))])
    assert answer.reasons["l4"] == "asks for 4 v4 but a user of nlp may hold 3 v4 at once"


def test_who_was_stopped_is_lent_room_again_after_ever_longer_pauses_and_has_its_share_at_once() -> None:
    holds = [hold("l1", "nlp", v4(4))]
    back = replace(want("l2", "nlp", v4(2)), stops=3, stopped=ago(100))
    answer = decide(HALVES, wants=[back], holds=holds)
    assert (answer.starts, answer.again) == ((), NOW + timedelta(seconds=260))
    assert answer.reasons["l2"].startswith(
        "stopped for others 3 times: it may borrow beyond the share of nlp again in "
    )
    assert decide(HALVES, wants=[replace(back, stops=4)], holds=holds).again == NOW + timedelta(seconds=620)
    assert started(decide(HALVES, wants=[replace(back, stops=2)], holds=holds)) == ["l2"], "the first two are forgiven"
    assert started(decide(HALVES, wants=[back])) == ["l2"]


def test_a_gang_larger_than_its_share_does_not_hold_back_its_juniors() -> None:
    limits = quota({"v4": 16}, a={"v4": "0.5"}, b={"v4": "0.5"})
    wants = [want("gang", "a", v4(12), order=0)]
    wants += [want(f"a{n}", "a", v4(1), order=1 + n) for n in range(8)]
    wants += [want(f"b{n}", "b", v4(1), order=20 + n) for n in range(11)]
    names = started(decide(limits, wants=wants))
    assert sum(name.startswith("a") for name in names) == 8
    assert sum(name.startswith("b") for name in names) == 8


def test_a_gang_larger_than_its_share_keeps_its_place_before_its_juniors_when_there_is_room() -> None:
    limits = quota({"v4": 16}, a={"v4": "0.5"}, b={"v4": "0.5"})
    wants = [want("gang", "a", v4(12), order=9, priority=1)]
    wants += [want(f"a{n}", "a", v4(1), order=n) for n in range(8)]
    assert started(decide(limits, wants=wants))[0] == "gang"
    wants.append(want("arr", "b", v4(1), order=20, count=4))
    assert started(decide(limits, wants=wants)) == [*["arr"] * 4, "gang"]


def test_users_of_a_project_take_turns_by_what_they_have() -> None:
    limits = quota({"v4": 6}, nlp={"v4": "1"})
    wants = [want(f"ann{n}", "nlp", v4(1), user="ann", order=n) for n in range(4)]
    wants += [want(f"bob{n}", "nlp", v4(1), user="bob", order=10 + n) for n in range(4)]
    assert started(decide(limits, wants=wants)) == ["ann0", "bob0", "ann1", "bob1", "ann2", "bob2"]
    holds = [hold("ann-old", "nlp", v4(2), user="ann")]
    assert started(decide(limits, wants=wants, holds=holds)) == ["bob0", "bob1", "ann0", "bob2"]


def test_priority_goes_before_fairness_and_age_inside_a_project_only() -> None:
    limits = quota({"v4": 2}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})
    wants = [want("old", "nlp", v4(1), order=0), want("hot", "nlp", v4(1), order=9, priority=1, user="bob")]
    wants.append(want("low", "vision", v4(1), order=10, priority=5))
    assert started(decide(limits, wants=wants)) == ["hot", "low"]


def test_projects_without_a_share_come_after_all_with_one() -> None:
    wants = [want("x", "nobody", v4(4), order=0), want("l1", "nlp", v4(8), order=1)]
    assert started(decide(HALVES, wants=wants)) == ["l1"]


def test_kinds_that_nobody_has_a_share_of_are_neither_share_nor_borrowed() -> None:
    limits = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})
    capacity: tuple[Resources, ...] = ({"v4": 8, "cpu": 4},)
    holds = [hold("l1", "nlp", {"v4": 4, "cpu": 1}), hold("l2", "nlp", {"v4": 4, "cpu": 1}, age=5)]
    answer = decide(limits, wants=[want("v1", "vision", {"v4": 4, "cpu": 1})], holds=holds, capacity=capacity)
    assert stopped(answer) == [("l2", 0)]


def test_a_share_of_a_third_of_nine_is_three() -> None:
    limits = quota({"v4": 9}, a={"v4": "0.333"}, b={"v4": "0.333"}, c={"v4": "0.333"})
    holds = [hold("a1", "a", v4(3)), hold("b1", "b", v4(3)), hold("b2", "b", v4(3), age=1)]
    assert stopped(decide(limits, wants=[want("c1", "c", v4(3))], holds=holds)) == [("b2", 0)]


@pytest.mark.parametrize(
    ("demand", "reason"),
    [
        ({"h100": 1}, "this fleet has no h100: it can never start"),
        ({"v4": 64}, "asks for 64 v4 but the fleet has 8: it can never start"),
    ],
)
def test_what_can_never_start_is_told_so(demand: Resources, reason: str) -> None:
    assert decide(HALVES, wants=[want("w", "nlp", demand)]).reasons == {"w": reason}


def test_who_waits_behind_others_of_its_project_is_told_their_names() -> None:
    wants = [want(f"w{n}", "vision", v4(4), user=f"u{n}", order=n, waited=0) for n in range(4)]
    reasons = decide(HALVES, wants=wants, holds=[hold("l1", "nlp", v4(8))]).reasons
    assert reasons["w1"].startswith("1 job of vision ahead (u0/w0); needs 4 v4")
    assert reasons["w3"].startswith("3 jobs of vision ahead (u0/w0, u1/w1); needs 4 v4")


def test_without_a_quota_file_everything_that_fits_starts_and_nothing_stops() -> None:
    wants = [want("a", "p", v4(5), order=0), want("b", "q", v4(4), order=1), want("c", "r", v4(3), order=2)]
    answer = decide(Quota.open(), wants=wants, capacity=(v4(8),))
    assert started(answer) == ["c", "b"]  # no shares: the least part of the pool first
    assert answer.stops == ()
    assert answer.reasons["a"] == "needs 5 v4, 1 of 8 free"


def test_a_want_without_demands_always_starts() -> None:
    assert started(decide(HALVES, wants=[want("w", "nlp", {}), want("z", "nlp", v4(0))])) == ["w", "z"]
