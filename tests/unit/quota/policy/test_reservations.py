"""Reservations of projects for their overtaken jobs, one decision at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace as changed
from fractions import Fraction
from typing import Any

import pytest
from msgspec.structs import replace

from bastion.quota.demand import Holding, Schedule, Want
from bastion.quota.policy.overtaken import FULL, PART, PATIENCE
from bastion.quota.project_work import ProjectWork
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from bastion.quota.tiers import Capacity
from tests.unit.quota.policy.fleet import ago, decide, hold, quota, started, stopped, want, work_of

H = 3600.0
LIMITS = quota({"v4": 16}, a={"v4": "0.5"}, b={"v4": "0.5"})
LIMIT = PATIENCE * 10 * H
"""For how long a job may be overtaken that asks for `FULL` of its project."""

LATER = 1_000


def v4(amount: int) -> Resources:
    return {"v4": amount}


def asked(limits: Quota, wants: Iterable[Want], holds: Iterable[Holding], **more: Any) -> Schedule:
    """The decision, where all that runs is all that ran."""
    rows, work = list(holds), dict[str, ProjectWork]()
    for row in sorted(rows, key=lambda row: row.since):
        work_of(work, row, +1, row.since)
    return decide(limits, wants=wants, holds=rows, work=work, **more)


def first(amount: int = 4, *, hours: float = 19, order: int = 9, user: str = "ann", **more: Any) -> Want:
    """A job that waits for long, and not yet for so long that it is a large one that is overdue."""
    return replace(want("first", "a", v4(amount), user=user, order=order, waited=hours * H), **more)


def junior(name: str = "junior", *, order: int = LATER, user: str = "ann", project: str = "a") -> Want:
    return want(name, project, v4(1), user=user, order=order, waited=60)


def juniors(count: int, *, project: str = "a", hours: float = 10, user: str = "ann") -> list[Holding]:
    """They came later than the job that waits, and run for so long."""
    return [hold(f"{project}{n}", project, v4(1), user=user, order=100 + n, age=hours * H) for n in range(count)]


def test_a_project_keeps_its_room_for_its_overtaken_job_and_not_that_of_others() -> None:
    holds = [*juniors(6, hours=5), *juniors(8, project="b")]
    answer = asked(LIMITS, [first(), junior(), junior("other", project="b")], holds)
    assert answer.reservations["a"].job == "first"
    assert answer.reservations["a"].overtaken_s == 19 * H
    assert answer.reservations["a"].limit_s == LIMIT
    assert started(answer) == ["other"], "2 are free, and a's junior would take one of them"
    assert answer.reasons["junior"].endswith("a keeps room for ann/first (4 v4), overtaken for 19.0 of 6.0 h")
    old, young = (first(hours=LIMIT / H + more) for more in (0.1, -0.1))
    assert asked(LIMITS, [old], [*holds, *juniors(2, project="c")]).reservations["a"].job == "first"
    assert asked(LIMITS, [young], [*holds, *juniors(2, project="c")]).reservations == {}, (
        "it waits for less than its limit"
    )


def test_what_is_left_beside_it_others_may_have() -> None:
    limits = quota({"v4": 16, "cpu": 8}, a={"v4": "1"})
    wants = [first(demand={"v4": 4, "cpu": 8}), *(junior(f"j{n}", order=LATER + n) for n in range(3))]
    holds = [*juniors(10), hold("c0", "a", {"cpu": 1}, order=99, age=10 * H)]
    assert started(asked(limits, wants, holds)) == ["j0", "j1"], "6 v4 are free, and 4 of them kept until a cpu is free"
    holds[-1] = replace(holds[-1], demand={"v4": 1})
    assert started(asked(limits, wants, holds)) == ["first", "j0"]


BORROWED = quota({"v4": 16}, a={"v4": "0.25"}, b={"v4": "0.25"})
"""Half of it is nobody's."""


def test_it_takes_what_is_free_and_not_promised_before_other_projects_borrow_it() -> None:
    holds = [*juniors(4), *juniors(4, project="b"), *juniors(4, project="c")]
    borrows = want("borrows", "b", v4(1), waited=60)
    assert started(asked(BORROWED, [first(), borrows], holds)) == ["first"]
    assert started(asked(BORROWED, [first(hours=1), borrows], holds)) == ["borrows"], "it borrows less"


def test_what_is_promised_to_others_it_does_not_take_before_their_turn() -> None:
    limits = changed(BORROWED, shares={**BORROWED.shares, "d": {"v4": Fraction(1, 2)}}, user_limits={"d": {"v4": 1}})
    holds = [*juniors(4), *juniors(4, project="b"), *juniors(4, project="c")]
    wants = [first(), want("borrows", "b", v4(1), waited=60), want("promised", "d", v4(3), waited=60)]
    assert started(asked(limits, wants, holds)) == ["borrows"], "of 4 that are free 3 are promised"


def test_what_others_are_promised_is_not_left_beside_it() -> None:
    """Bob used less than ann and goes before her; b's job comes after both of his, and before hers if they start."""
    used = [replace(row, user=("ann", "bob")[not n]) for n, row in enumerate(juniors(4))]
    wants = [
        first(2),
        *(junior(f"j{n}", user="bob", order=LATER + n) for n in range(2)),
        want("owed", "b", v4(2), waited=60),
    ]
    assert started(asked(LIMITS, wants, [*used, *juniors(6, project="b"), *juniors(2, project="c")])) == [
        "first",
        "owed",
    ]


def test_it_stops_its_juniors_once_that_costs_less_than_to_wait() -> None:
    def stops(holds: list[Holding], **more: Any) -> list[str]:
        return [job for job, _ in stopped(asked(LIMITS, [first(8, **more)], [*holds, *juniors(8, project="b")]))]

    def saved(seconds: float) -> list[Holding]:
        return [replace(row, saved=ago(seconds)) for row in juniors(8)]

    assert len(stops(saved(60))) == 8, "8 are idle for a while until all of them have ended"
    assert stops(saved(10 * H)) == [], "they would lose too much"
    assert stops([replace(row, order=n) for n, row in enumerate(saved(60))]) == [], "they came before it"
    assert stops([replace(row, priority=1) for row in saved(60)]) == [], "they are more important"
    assert stops([replace(row, stops=3) for row in saved(60)]) == [], "they were stopped often"


def test_the_first_with_the_right_has_it_and_a_light_user_before_all() -> None:
    second = replace(first(order=10), job="second")
    holds = [*juniors(8), *juniors(7, project="b")]
    assert asked(LIMITS, [second, first()], holds).reservations["a"].job == "first"
    answer = asked(LIMITS, [replace(second, user="bob"), first()], holds)
    assert answer.reservations["a"].job == "second", "bob holds nothing, and ann all"
    answer = asked(LIMITS, [replace(second, user="bob"), first(), junior("old", order=1)], holds)
    assert started(answer) == [], "then it is before ann's older jobs, too"
    answer = asked(LIMITS, [first(), junior("old", order=1), junior("new", user="bob")], holds)
    assert started(answer) == ["old"], "else only those behind it are held back"
    halves = [replace(row, user=("ann", "cid")[n % 2]) for n, row in enumerate(holds)]
    answer = asked(LIMITS, [first(), junior("old", order=1, user="cid")], halves)
    assert started(answer) == ["old"], "whose ever they are"


def test_to_a_light_user_all_is_behind_that_started_since() -> None:
    older = [*(replace(row, order=1) for row in juniors(8, hours=10)), *juniors(8, project="b")]
    assert asked(LIMITS, [first(user="ann")], older).reservations == {}
    assert asked(LIMITS, [first(user="bob")], older).reservations["a"].overtaken_s == 19 * H
    assert asked(LIMITS, [first(user="bob", hours=9)], older).reservations == {}, "they had started before it came"


def test_who_waits_anew_is_overtaken_only_by_what_started_since() -> None:
    """It ran before they came, and was stopped."""
    right = replace(hold("right", "a", v4(4), order=0, age=20 * H), overdue=True)
    for holds in (juniors(8), [*juniors(4), right]):
        found = [asked(LIMITS, [first(hours=hours)], holds).overtaken("first") for hours in (9, 19)]
        assert [row and row.overtaken_s > 0 for row in found] == [False, True]


def test_what_ran_before_it_came_counts_for_nothing() -> None:
    before = hold("before", "a", v4(4), order=0, age=30 * H)
    found = asked(LIMITS, [first()], [*juniors(4), before]).overtaken("first")
    assert found is not None
    assert found.overtaken_s == 19 * H


def test_the_limit_grows_with_what_is_asked_for_up_to_a_part_of_the_project() -> None:
    large = quota({"v4": 512}, a={"v4": "0.5"}, b={"v4": "0.5"})
    full, holds = int(256 * FULL), [*juniors(8), hold("other size", "a", v4(3), age=60)]
    found = [
        asked(large, [first(amount, hours=1)], holds).overtaken("first") for amount in (1, 4, full // 2, full, 256)
    ]
    assert [row and row.limit_s for row in found] == [LIMIT / full, 4 * LIMIT / full, LIMIT / 2, LIMIT, LIMIT]
    assert asked(large, [first(257)], holds).overtaken("first") is None, "more than the share"


def test_beyond_the_budget_juniors_need_a_part_of_all_work() -> None:
    by_right = replace(hold("right", "a", v4(4), order=0, age=30 * H), overdue=True)
    few = [by_right, *juniors(4, hours=15), *juniors(8, project="b")]
    found = asked(LIMITS, [first()], few).overtaken("first")
    assert found is not None
    assert (found.overtaken_s, found.limit_s) == pytest.approx((19 * H * 60 / 136, PART * 19 * H))
    assert asked(LIMITS, [first()], [replace(by_right, overdue=False), *few[1:]]).reservations["a"].limit_s == LIMIT
    assert asked(LIMITS, [first(user="bob")], few).reservations["a"].limit_s == LIMIT, "not for a light user"
    most = [replace(by_right, demand=v4(3)), *juniors(5, hours=18.9), *juniors(8, project="b")]
    assert asked(LIMITS, [first()], most).reservations["a"].limit_s == pytest.approx(PART * 19 * H)
    little = [replace(by_right, demand=v4(1)), replace(few[1], demand=v4(2)), *few[2:], *juniors(2, project="c")]
    assert asked(LIMITS, [first(1)], little).reservations["a"].limit_s == LIMIT, "1 and 1 are a quarter of 8"


def test_a_heavy_user_is_overtaken_for_too_long_when_others_have_all_but_one_part() -> None:
    rows, others = juniors(8, user="bob"), juniors(8, project="b")
    two = [*rows[:6], *(replace(row, user="cid") for row in rows[6:]), *others]
    four = [*rows[:5], *(replace(row, user=row.job) for row in rows[5:]), *others]
    found = [asked(LIMITS, [first(user="bob")], holds).overtaken("first") for holds in (two, four)]
    assert [row and row.limit_s for row in found] == [LIMIT, 19 * H * (1 - 1 / 4)], "6 of 8 are 1.5 times the mean"


def test_only_the_tiers_that_will_do_are_kept() -> None:
    limits = quota({"v4": 8}, {"v4": 8}, a={"v4": "1"})
    holds = [replace(row, max_tier=0) for row in juniors(7)]
    wants = [first(max_tier=0), junior()]
    assert started(asked(limits, wants, holds)) == ["junior"], "it can be moved to the other tier"
    assert started(asked(limits, [wants[0], replace(wants[1], max_tier=0)], holds)) == []


def test_another_partition_is_not_kept() -> None:
    limits = quota({"v4": 8}, {"v4": 8}, a={"v4": "1"})
    holds = [*juniors(8), *(replace(row, job=f"far-{row.job}", tier=1) for row in juniors(5))]
    wants = [first(max_tier=0), junior()]
    assert started(asked(limits, wants, holds, capacity=Capacity(limits.tiers, partition_starts=(1,)))) == ["junior"]
    assert started(asked(limits, wants, holds)) == [], "from this tier a job could be moved"


def test_a_runner_that_is_silent_is_not_waited_for() -> None:
    limits = quota({"v4": 8}, {"v4": 8}, a={"v4": "1"})
    capacity = Capacity(limits.tiers, partition_starts=(1,), shut=(frozenset({"v4"}), frozenset()))
    answer = asked(limits, [first(max_tier=0), junior()], juniors(7), capacity=capacity)
    assert (started(answer), answer.reservations) == (["junior"], {})


def test_once_it_has_started_others_start_in_the_same_decision() -> None:
    wants = [first(2), junior()]
    holds = [*juniors(8), *juniors(5, project="b", hours=1)]
    assert started(asked(LIMITS, wants, holds)) == ["first", "junior"], "of 3 that are free"


def test_also_a_large_job_waits_behind_it() -> None:
    """However long it waits: the first one waits for longer."""
    large = replace(junior(), since=ago(25 * H))
    assert started(asked(LIMITS, [first(hours=30), large], [*juniors(6), *juniors(8, project="b")])) == []
    assert started(asked(LIMITS, [large], [*juniors(6), *juniors(8, project="b")])) == ["junior"]


def test_it_holds_until_all_tasks_have_started() -> None:
    wants = [first(count=2), junior()]
    assert started(asked(LIMITS, wants, [*juniors(3), *juniors(8, project="b")])) == ["first"], "of 5 that are free"
