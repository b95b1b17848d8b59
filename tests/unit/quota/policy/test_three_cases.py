"""Three cases that break the incumbent, told as it decides them and as the default policy does."""

from __future__ import annotations

import pytest

from tests.unit.quota.policy.drive import Fleet, Job
from tests.unit.quota.policy.fleet import quota

HALVES_OF_16 = quota({"v4": 16}, a={"v4": "0.5"}, b={"v4": "0.5"})
HALVES_OF_8 = quota({"v4": 8}, a={"v4": "0.5"}, b={"v4": "0.5"})
RESERVED_AND_SPOT = quota({"v4": 4}, {"v4": 4}, a={"v4": "0.5"}, b={"v4": "0.5"})

HOUR = 3600


def ones(prefix: str, project: str, count: int) -> list[Job]:
    """Single jobs of one unit, submitted one after the other."""
    return [Job(name=f"{prefix}{number:02}", project=project, demand={"v4": 1}) for number in range(count)]


@pytest.mark.parametrize(("policy", "of_a", "of_b"), [("axlearn", 5, 11), ("default", 8, 8)])
def test_a_gang_larger_than_its_share_at_the_head_of_its_project(policy: str, of_a: int, of_b: int) -> None:
    """Two projects own half of 16 each; a submits a gang of 12 and eight single jobs, b sixteen single jobs.

    The incumbent compares the gang with b's jobs one by one until the gang's turn comes, when it does not fit: meanwhile
    b has taken 11, and a, which is owed 8, is left with 5. By default the gang gives way to its juniors.
    """
    gang = Job(name="gang", project="a", demand={"v4": 12})
    fleet = Fleet(HALVES_OF_16, [gang, *ones("a", "a", 8), *ones("b", "b", 16)], policy=policy).run(HOUR)
    assert (fleet.held("a"), fleet.held("b")) == (of_a, of_b)
    assert "gang" in fleet.waiting
    assert fleet.stops() == []


def borrower_and_short_jobs(policy: str) -> Fleet:
    """A job of a runs on all of 8, of which it owns half; b submits a job of a minute every five minutes."""
    borrower = Job(name="borrower", project="a", demand={"v4": 8})
    short = [
        Job(name=f"short{number:03}", project="b", demand={"v4": 2}, at=300 * number + 60, lasts=60)
        for number in range(24 * 12)
    ]
    return Fleet(HALVES_OF_8, [borrower, *short], policy=policy)


def test_the_incumbent_admits_a_victim_at_once_and_stops_it_again_all_day() -> None:
    fleet = borrower_and_short_jobs("axlearn")
    fleet.run(600)
    assert fleet.stops("borrower") == [60, 360], "each short job stops it in the tick in which it comes"
    assert fleet.running() == ["borrower"], "and once the short job is over it is there again"
    fleet.run(24 * HOUR)
    assert len(fleet.stops("borrower")) == 24 * 12


def test_by_default_a_victim_rests_longer_each_time_before_it_borrows_again() -> None:
    fleet = borrower_and_short_jobs("default").run(24 * HOUR)
    assert len(fleet.stops("borrower")) <= 10
    assert len(fleet.waiting) <= 2, "and b waited for nothing longer"


@pytest.mark.parametrize(
    ("policy", "stops", "tiers"),
    [
        ("axlearn", {"old": [60]}, {"old": 1, "new": 0}),
        ("default", {}, {"old": 0, "new": 1}),
    ],
)
def test_a_newcomer_shuffles_tiers(policy: str, stops: dict[str, list[float]], tiers: dict[str, int]) -> None:
    """A job of a runs on the reserved tier. Then b submits a smaller one, for which the other tier has room.

    The incumbent ranks the newcomer first, so it must have the best tier: the job that runs there is stopped, to run
    again one tick later on the other tier. By default nobody who runs is moved.
    """
    old = Job(name="old", project="a", demand={"v4": 4})
    new = Job(name="new", project="b", demand={"v4": 2}, at=60)
    fleet = Fleet(RESERVED_AND_SPOT, [old, new], policy=policy)
    for _ in fleet.until(HOUR):
        assert sum(row.demand["v4"] for row in fleet.holds.values() if row.tier == 0) <= 4, "nobody starts too early"
    assert {name: fleet.stops(name) for name in ("old", "new") if fleet.stops(name)} == stops
    assert {row.job: row.tier for row in fleet.holds.values()} == tiers
