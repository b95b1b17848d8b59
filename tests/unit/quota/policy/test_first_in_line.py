"""Who was stopped is spared for a while, and what was freed for somebody is for nobody else."""

from __future__ import annotations

from dataclasses import replace as replace_dataclass
from datetime import timedelta

from msgspec.structs import replace

from bastion.quota.resources import Resources
from tests.unit.quota.policy.fleet import NOW, ago, decide, hold, quota, started, stopped, want

HALVES = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})


def v4(amount: int) -> Resources:
    return {"v4": amount}


def test_a_project_stops_nobody_of_its_own_a_sixth_time() -> None:
    holds = [hold("l1", "nlp", v4(4), priority=5), hold("v1", "vision", v4(4))]
    hot = want("hot", "nlp", v4(4), priority=1)
    for stops, expected in ((4, [("l1", 0)]), (5, [])):
        often = [replace(holds[0], stops=stops), holds[1]]
        assert stopped(decide(HALVES, wants=[hot], holds=often)) == expected


def test_room_that_was_freed_for_one_is_not_taken_by_more_tasks_of_another() -> None:
    limits = quota(v4(8), a={"v4": "0.5"}, b={"v4": "0.5"})
    wants = [want("arr", "a", v4(1), order=1, count=4), want("b1", "b", v4(4), order=2)]
    held = [hold("x1", "x", v4(3))]
    assert started(decide(limits, wants=wants, holds=held, reclaims=("arr", "b1"))) == ["arr", "b1"]


def test_who_is_first_in_line_gets_no_more_than_a_user_may_hold() -> None:
    limits = replace_dataclass(HALVES, user_limits={"nlp": v4(2)})
    answer = decide(limits, wants=[want("arr", "nlp", v4(1), count=4)], reclaims=("arr",))
    assert started(answer) == ["arr", "arr"]


def test_the_pause_of_a_stopped_task_counts_though_others_of_its_array_wait_for_long() -> None:
    holds = [hold("l1", "nlp", v4(4))]
    array = replace(want("arr", "nlp", v4(2), count=3), stops=3, stopped=ago(10))
    answer = decide(HALVES, wants=[array], holds=holds)
    assert (answer.starts, answer.again) == ((), NOW + timedelta(seconds=350))
    assert started(decide(HALVES, wants=[array], holds=holds, delay=0)) == [], "a minute at least"
