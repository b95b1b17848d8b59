"""Behind the seam the incumbent's policy decides as the incumbent does, and nothing that it does not know moves it."""

from __future__ import annotations

import pytest

from bastion.quota.resources import Resources
from tests.unit.quota.policy.fleet import decide, hold, quota, started, stopped, stopping, want

LIMITS = quota({"v4": 8}, nlp={"v4": "0.5"}, vision={"v4": "0.5"})


def test_behind_the_seam_a_newcomer_stops_a_running_job_at_once_and_starts_when_it_is_gone() -> None:
    first, second = hold("l1", "nlp", {"v4": 4}, order=1), hold("l2", "nlp", {"v4": 4}, order=2)
    wants = [want("v1", "vision", {"v4": 4}, order=3, waited=0)]
    answer = decide(LIMITS, wants=wants, holds=[first, second], policy="axlearn")
    assert (started(answer), stopped(answer)) == ([], [("l2", 0)])
    assert "gone" in answer.reasons["v1"]
    later = decide(LIMITS, wants=wants, holds=[first, stopping(second)], policy="axlearn")
    assert (started(later), stopped(later)) == ([], [])
    last = decide(LIMITS, wants=wants, holds=[first], policy="axlearn")
    assert (started(last), stopped(last)) == (["v1"], [])


def test_behind_the_seam_a_running_job_whose_tier_changes_is_stopped() -> None:
    limits = quota({"v4": 4}, {"v4": 4}, a={"v4": "0.5"}, b={"v4": "0.5"})
    answer = decide(limits, holds=[hold("a1", "a", {"v4": 4}, tier=1)], policy="axlearn")
    assert [stop.reason for stop in answer.stops] == ["moves from tier 1 to tier 0"]


def test_behind_the_seam_an_array_starts_as_many_tasks_as_fit_and_says_why_the_rest_waits() -> None:
    running = hold("arr", "nlp", {"v4": 1}, task=2)
    answer = decide(LIMITS, wants=[want("arr", "nlp", {"v4": 1}, count=1000)], holds=[running], policy="axlearn")
    assert (len(answer.starts), answer.stops) == (7, ())
    assert answer.reasons["arr"] == "needs 1 v4; 0 of 8 left by 8 tasks ahead"


@pytest.mark.parametrize(
    ("demand", "reason"),
    [
        ({"h100": 1}, "this fleet has no h100: it can never start"),
        ({"v4": 9}, "asks for 9 v4 but the fleet has 8: it can never start"),
    ],
)
def test_behind_the_seam_what_can_never_start_is_told_so(demand: Resources, reason: str) -> None:
    answer = decide(LIMITS, wants=[want("w", "nlp", demand)], policy="axlearn")
    assert answer.reasons == {"w": reason}
