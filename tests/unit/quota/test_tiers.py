"""The pool is the smaller of what the quota says and what runners report, and better tiers keep as much as possible."""

from __future__ import annotations

import pytest

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from bastion.quota.tiers import charge, free, take, tier_amounts

TWO = Quota(tiers=({"v4": 8}, {"v4": 4, "v5": 2}))


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (None, ({"v4": 8}, {"v4": 4, "v5": 2})),
        ({"v4": 100, "v5": 100}, ({"v4": 8}, {"v4": 4, "v5": 2})),
        ({"v4": 10}, ({"v4": 8}, {"v4": 2, "v5": 0})),
        ({"v4": 5, "v5": 1}, ({"v4": 5}, {"v4": 0, "v5": 1})),
        ({"v4": 12, "cpu": 3}, ({"v4": 8, "cpu": 3}, {"v4": 4, "v5": 0})),
        ({"v4": -1}, ({"v4": 0}, {"v4": 0, "v5": 0})),
    ],
)
def test_the_pool_is_the_smaller_of_both(reported: Resources | None, expected: tuple[Resources, ...]) -> None:
    assert tier_amounts(TWO, reported) == expected


def test_without_a_quota_file_the_pool_is_what_is_reported() -> None:
    assert tier_amounts(Quota.open(), {"v4": 8, "cpu": 4}) == ({"v4": 8, "cpu": 4},)


def test_a_task_is_named_after_the_worst_tier_it_touches_and_takes_from_there_first() -> None:
    tiers = [{"v4": 2}, {"v4": 3}]
    assert take(tiers, [("v4", 3)]) == 1
    assert tiers == [{"v4": 2}, {"v4": 0}]


def test_more_than_there_is_is_owed_by_the_tier_it_is_held_in() -> None:
    tiers = [{"v4": 2}, {"v4": 1}]
    charge(tiers, [("v4", 5)], 1)
    assert tiers == [{"v4": 0}, {"v4": -2}]


def test_a_hold_of_a_tier_that_no_longer_exists_counts_against_the_last() -> None:
    assert free(({"v4": 4},), [({"v4": 1}, 7)]) == [{"v4": 3}]
