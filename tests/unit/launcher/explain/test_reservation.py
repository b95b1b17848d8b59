"""How far a job is overtaken, for whom its project keeps room, and the words for it."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import timedelta

import pytest

from bastion.launcher.explain.reservation import Reservation, TimeOvertaken, overtaken, reservation
from bastion.launcher.explain.waiting import WaitingAccount
from bastion.launcher.explain.waiting_text import waits
from bastion.quota.demand import Overtaken, Schedule
from bastion.schedule.usage import ExcessDemand
from tests.support.scenes import Asked, Scene
from tests.support.world import NOON

HOUR = 3_600.0
BIG = Overtaken(
    job="big", project="red", user="ann", kind="v4", units=4, since=NOON - timedelta(hours=8), overtaken_s=6 * HOUR,
    limit_s=4.5 * HOUR, of_all=False,
)  # fmt: skip
JOBS = Scene(jobs=tuple(Asked(name=name) for name in ("big", "a", "b", "c"))).case().state.jobs


def answer(**fields: object) -> Schedule:
    """Room is kept for `big`, and `b` and `c` are held back for it."""
    made = Schedule(reservations={"red": BIG}, overtaken={"big": BIG}.get, held_back=lambda job: job in ("b", "c"))
    return replace(made, **fields)  # type: ignore[arg-type]


def kept(job: str, free: int = 3) -> Reservation | None:
    return reservation(JOBS[job], list(JOBS.values()), answer(), {"v4": free, "cpu": 9}, NOON)


def test_the_part_of_the_work_that_went_to_jobs_behind_it_is_told() -> None:
    found = overtaken(JOBS["big"], answer(), NOON)
    assert found == TimeOvertaken(overtaken_s=6 * HOUR, limit_s=4.5 * HOUR, part=0.75, of_all=False)


def test_who_is_not_overtaken_is_told_nothing() -> None:
    assert overtaken(JOBS["a"], answer(), NOON) is None
    none = replace(BIG, overtaken_s=0.0)
    assert overtaken(JOBS["big"], answer(overtaken=lambda job: none), NOON) is None


def test_what_a_reservation_costs_is_counted() -> None:
    found = kept("b")
    assert found
    assert found.since == NOON - timedelta(hours=2), "the limit is three quarters of what it is overtaken by now"
    assert {**asdict(found), "since": None, "overtaken": found.overtaken.part} == {
        "job": "big", "user": "ann", "kind": "v4", "asked": 4, "free": 3, "since": None, "overtaken": 0.75, "behind": 2,
        "is_own": False, "holds_back": True,
    }  # fmt: skip


@pytest.mark.parametrize(("free", "told"), [(7, 4), (0, 0), (-2, 0)])
def test_no_more_is_kept_for_it_than_it_asks_for(free: int, told: int) -> None:
    found = kept("big", free)
    assert found
    assert (found.is_own, found.holds_back, found.free) == (True, False, told)


def test_who_is_in_no_line_is_told_of_no_reservation() -> None:
    order = [job for name, job in JOBS.items() if name != "b"]
    assert reservation(JOBS["b"], order, answer(), {"v4": 3}, NOON) is None
    assert reservation(JOBS["b"], list(JOBS.values()), answer(reservations={}), {"v4": 3}, NOON) is None


def lines(**parts: object) -> list[tuple[str, str]]:
    account = WaitingAccount(amounts=(), place=None, ahead=(), holders=(), gates=(), never="", **parts)  # type: ignore[arg-type]
    return list(waits(account, "red", NOON))


def test_who_has_no_right_yet_is_told_how_far_it_is() -> None:
    found = TimeOvertaken(overtaken_s=2 * HOUR, limit_s=3 * HOUR, part=0.66, of_all=False)
    part = "jobs of red behind it got 66 % of what red started since it waits"
    assert lines(overtaken=found) == [("overtaken", f"for 2.0 of 3.0 h: {part}; beyond that, red keeps room for it")]


def test_whoever_has_the_right_is_told_that_room_is_kept() -> None:
    assert lines(overtaken=overtaken(JOBS["big"], answer(), NOON), reservation=kept("big")) == [
        ("overtaken", "for 6.0 of 4.5 h: jobs of red behind it got 75 % of what red started since it waits"),
        (
            "reserved",
            "red keeps room for it since about 10:00 UTC, 2h ago: 3 of its 4 v4 free, and 2 jobs of red must wait until it "
            "has started",
        ),
    ]


@pytest.mark.parametrize(("job", "end"), [("a", "but not this one"), ("b", "this one too")])
def test_the_others_are_told_for_whom(job: str, end: str) -> None:
    assert lines(reservation=kept(job)) == [
        (
            "reserved",
            "red keeps room for ann/big, overtaken for 6.0 of 4.5 h, since about 10:00 UTC, 2h ago: 3 of its 4 v4 free, and "
            f"2 jobs of red must wait until it has started, {end}",
        )
    ]


def test_who_is_overtaken_for_too_long_but_is_not_the_first_is_told_who_is() -> None:
    second = TimeOvertaken(overtaken_s=5 * HOUR, limit_s=4 * HOUR, part=0.5, of_all=True)
    assert lines(overtaken=second, reservation=kept("a"))[0] == (
        "overtaken",
        "for 5.0 of 4.0 h: jobs of red behind it got 50 % of what red ran since it waits; red keeps room for it after ann/big",
    )


def test_nobody_and_one_job_behind_it_are_told_as_such() -> None:
    found = kept("big")
    assert found
    assert "and no jobs of red must wait" in lines(reservation=replace(found, behind=0))[0][1]
    assert "and 1 job of red must wait" in lines(reservation=replace(found, behind=1))[0][1]


def test_whom_no_order_can_help_is_told_so() -> None:
    row = ExcessDemand(project="red", kind="v4", size=4, running=8, waiting=6, share=8, ratio=1.75)
    assert lines(excess=(row,)) == [("share", row.text())]
