"""What a failed try held is kept for the next one: nobody gets it meanwhile but who could have stopped the try."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from bastion.quota.demand import Holding, Want
from bastion.quota.policy.index import WantIndex
from bastion.quota.resources import Resources
from bastion.quota.tiers import Capacity
from tests.unit.quota.policy.fleet import NOW, decide, hold, quota, started, stopped, stopping, want

HALVES = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})
LONG_AGO, JUST_NOW = 1000.0, 5.0


def v4(amount: int) -> Resources:
    return {"v4": amount}


def kept(job: str, project: str, amount: int, *, seconds: float = 10.0, task: int = 0, **fields: int) -> Holding:
    """What is kept for a job whose next try begins in so many seconds."""
    row = hold(job, project, v4(amount), order=1, task=task, **fields)
    return replace(row, retry=NOW + timedelta(seconds=seconds))


def test_who_waits_does_not_get_what_is_kept_and_reads_until_when_it_is() -> None:
    answer = decide(
        HALVES, wants=[want("small", "vision", v4(1), waited=JUST_NOW)], holds=[kept("gang", "nlp", 8, seconds=75)]
    )
    assert (answer.starts, answer.stops) == ((), ())
    assert "needs 1 v4, 0 of 8 free; 8 held for the next try of ann/gang until 12:01:15 UTC" in answer.reasons["small"]


def test_the_next_try_begins_before_all_others_however_its_project_stands() -> None:
    first = want("small", "vision", v4(1), priority=1)
    own = want("gang", "nlp", v4(8), order=1, priority=9, waited=0)
    assert started(decide(HALVES, wants=[first, own], holds=[kept("gang", "nlp", 8, seconds=0)])) == ["gang"]
    assert started(decide(HALVES, wants=[first, own])) == ["small"]


def test_what_is_left_beside_it_is_for_all() -> None:
    wants = [want(job, "vision", v4(amount), waited=JUST_NOW) for job, amount in (("a", 2), ("b", 1))]
    assert started(decide(HALVES, wants=wants, holds=[kept("gang", "nlp", 6)])) == ["a"]


def test_who_could_have_it_stopped_starts_at_once_and_nobody_is_stopped() -> None:
    answer = decide(HALVES, wants=[want("v1", "vision", v4(4), waited=LONG_AGO)], holds=[kept("gang", "nlp", 8)])
    assert (started(answer), answer.stops) == (["v1"], ())


def test_it_is_given_up_rather_than_that_somebody_loses_work() -> None:
    holds = [kept("gang", "nlp", 4), hold("llm", "nlp", v4(4))]
    answer = decide(HALVES, wants=[want("v1", "vision", v4(4), waited=LONG_AGO)], holds=holds)
    assert (started(answer), answer.stops) == (["v1"], ())


def test_a_share_is_not_taken_back_from_who_does_not_borrow() -> None:
    holds = [kept("gang", "nlp", 4), hold("v0", "vision", v4(4))]
    answer = decide(HALVES, wants=[want("v1", "vision", v4(1), waited=LONG_AGO)], holds=holds)
    assert (answer.starts, answer.stops) == ((), ())


def test_what_is_more_important_in_its_own_project_goes_before_it_and_what_is_not_waits() -> None:
    for priority, expected in ((4, ["n1"]), (5, []), (6, [])):
        row = want("n1", "nlp", v4(8), priority=priority, waited=LONG_AGO)
        assert started(decide(HALVES, wants=[row], holds=[kept("gang", "nlp", 8)])) == expected


def test_what_it_lacks_beside_it_is_reclaimed_too_and_it_stays_first_in_line() -> None:
    holds = [kept("gang", "nlp", 4), hold("llm", "nlp", v4(4))]
    limits = quota({"v4": 8}, nlp={"v4": "0"}, vision={"v4": "1"})
    row = want("v1", "vision", v4(8), waited=LONG_AGO)
    assert stopped(decide(limits, wants=[row], holds=holds)) == [("llm", 0)]
    later = [holds[0], stopping(holds[1])]
    answer = decide(limits, wants=[row, want("n1", "nlp", v4(1))], holds=later, reclaims=("v1",))
    assert (answer.starts, answer.stops) == ((), ())
    assert answer.reasons["v1"] == "first in line: waiting for 8 v4 being freed by nlp (ann/llm)"


def test_a_pool_that_has_no_room_for_it_any_more_keeps_nothing() -> None:
    row = want("small", "vision", v4(1), waited=JUST_NOW)
    holds = [kept("gang", "nlp", 6), hold("v0", "vision", v4(2))]
    assert started(decide(HALVES, wants=[row], holds=holds, capacity=(v4(7),))) == ["small"]


def test_other_tasks_of_the_job_may_begin_in_it() -> None:
    own = want("sweep", "nlp", v4(4), count=1, waited=0)
    holds = [kept("sweep", "nlp", 4, task=0), kept("sweep", "nlp", 4, task=1)]
    answer = decide(HALVES, wants=[own, want("small", "vision", v4(1), waited=JUST_NOW)], holds=holds)
    assert started(answer) == ["sweep"], "and what is kept for the other task stays so"


def test_of_two_that_do_not_fit_beside_each_other_the_one_that_ended_last_has_its_room() -> None:
    rows: list[Want] = [want("old", "nlp", v4(8), waited=0), want("new", "nlp", v4(8), order=9, waited=0)]
    holds = [kept("old", "nlp", 8, seconds=0), replace(kept("new", "nlp", 8, seconds=0), since=NOW)]
    assert started(decide(HALVES, wants=rows, holds=holds)) == ["new"]


def test_it_is_of_the_tier_that_it_was_named_after() -> None:
    limits = quota({"v4": 4}, {"v4": 4}, nlp={"v4": "1"})
    holds = [replace(kept("gang", "nlp", 4), tier=1)]
    walled = Capacity((v4(4), v4(4)), partition_starts=(1,))
    (start,) = decide(limits, wants=[want("n1", "nlp", v4(4))], holds=holds, capacity=walled).starts
    assert start.tier == 0
    assert decide(limits, wants=[want("n1", "nlp", v4(8))], holds=holds, capacity=(v4(4), v4(4))).starts == ()


def test_the_other_policy_keeps_nothing() -> None:
    rows = [want("small", "vision", v4(1), waited=JUST_NOW)]
    assert started(decide(HALVES, wants=rows, holds=[kept("gang", "nlp", 8)], policy="axlearn")) == ["small"]


def test_a_board_has_it_beside_what_is_held() -> None:
    index, row = WantIndex(), kept("gang", "nlp", 8)
    index.hold(row)
    assert (list(index.kept), list(index.holds), index.used) == ([("gang", 0)], [], {})
    index.hold(replace(row, retry=None))
    assert (list(index.kept), list(index.holds)) == ([], [("gang", 0)])
    index.hold(row)
    index.hold_no_more(("gang", 0))
    assert (list(index.kept), list(index.holds)) == ([], [])
