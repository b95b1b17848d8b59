"""What is told of a reservation: for whom it is, who is held back, how far a job is from it, and why others stop for it."""

from __future__ import annotations

import pytest

from bastion.quota.demand import OVERTAKEN
from bastion.quota.policy.reasons import overdue, part_of, shrunk
from bastion.quota.policy.reclaim import StoppedAttempt
from bastion.quota.quota import Quota
from tests.unit.quota.policy.drive import Fleet, Job, Moment
from tests.unit.quota.policy.fleet import hold, quota, want

H = 3_600.0
EIGHT = quota({"v4": 8}, a={"v4": "1"})


def small(number: int, **fields: object) -> Job:
    """One of a stream of small jobs that fills the fleet for ever."""
    return Job(name=f"s{number}", project="a", demand={"v4": 1}, at=number * H / 8, lasts=H, **fields)  # type: ignore[arg-type]


def stream(limits: Quota = EIGHT, *, units: int, hours: float = 12, users: str = "ann") -> list[Moment]:
    """What is decided every few minutes while a stream of small jobs goes on around `big`."""
    jobs = [small(number, user=users) for number in range(int(8 * hours))]
    big = Job(name="big", project="a", demand={"v4": units}, at=H + 1, lasts=H)
    return list(Fleet(limits, [*jobs, big], tick=150).until(hours * H))


def test_all_of_its_project_behind_it_are_held_back_for_it_and_no_others() -> None:
    moment = next(moment for moment in stream(units=4) if moment.answer.reservations and len(moment.wants) > 1)
    answer = moment.answer
    found = answer.reservations["a"]
    assert (found.job, found.user, found.kind, found.units) == ("big", "ann", "v4", 4)
    assert found.is_too_long
    assert answer.overtaken("big") is found
    later = [want.job for want in moment.wants if want.job != "big"]
    assert all(answer.held_back(job) for job in later)
    assert not answer.held_back("big")
    assert not answer.held_back("unknown")
    told = f"overtaken for {part_of(found.overtaken_s, found.limit_s)}"
    assert answer.reasons["big"].endswith(f"; a keeps room for it, {told}")
    assert answer.reasons[later[0]].endswith(f"; a keeps room for ann/big (4 v4), {told}")


def test_how_far_a_job_is_overtaken_grows_until_room_is_kept_for_it() -> None:
    moments = [moment for moment in stream(units=4) if any(want.job == "big" for want in moment.wants)]
    before = [moment for moment in moments if not (moment.answer.reservations or moment.answer.starts)]
    found = [moment.answer.overtaken("big") for moment in before]
    assert all(one and not one.is_too_long for one in found)
    times = [one.overtaken_s for one in found if one]
    assert times == sorted(times)
    assert times[0] == 0 < times[-1]


@pytest.mark.parametrize("limits", [quota({"v4": 8}), EIGHT], ids=["without shares", "with shares"])
def test_for_a_job_that_can_never_start_no_room_is_kept(limits: Quota) -> None:
    moments = stream(limits, units=9, hours=30)
    assert any(want.job == "big" for want in moments[-1].wants)
    assert not any(moment.answer.reservations or moment.answer.overtaken("big") for moment in moments)
    assert not any(moment.answer.held_back(want.job) for moment in moments for want in moment.wants)


def test_where_all_ask_for_the_same_nobody_is_overtaken() -> None:
    assert not any(moment.answer.overtaken(want.job) for moment in stream(units=1) for want in moment.wants)


def test_who_is_stopped_for_it_is_told_that_they_started_while_it_waited() -> None:
    jobs = [small(number, user="eve", saves=60.0) for number in range(99)]
    big = Job(name="big", project="a", demand={"v4": 8}, at=H + 1, lasts=H)
    fleet = Fleet(EIGHT, [*jobs, big], tick=150).run(12 * H)
    reasons = [stop.reason for _, stop in fleet.log]
    assert reasons
    for at, stop in fleet.log:
        assert stop.reason.startswith(
            f"room for a/big (ann), overtaken for too long: eve/{stop.job} started while it waited; "
        ), at


def test_words_of_stops_change_only_with_the_rules() -> None:
    taken = StoppedAttempt(hold("s", "b", {"v4": 1}), {"v4": 5}, lost_s=60.0, among=3)
    gang, rest = want("gang", "a", {"v4": 16}), "the cheapest to stop of 3, it loses 60 s of work"
    assert (
        overdue(taken, gang, OVERTAKEN) == f"room for a/gang (ann), which waited for too long: b borrows 5 v4; {rest}"
    )
    assert (
        overdue(taken, gang, OVERTAKEN - 1) == f"room for a/gang (ann), overtaken for too long: b borrows 5 v4; {rest}"
    )
    assert shrunk(taken, {"v4": 2}, OVERTAKEN) == f"the capacity shrank: b borrowed 5 v4 over its share of 2; {rest}"
    assert shrunk(taken, {"v4": 2}, OVERTAKEN - 1) == f"the pool shrank: b borrowed 5 v4 over its share of 2; {rest}"


@pytest.mark.parametrize(
    ("seconds", "limit_s", "text"),
    [
        (7_200, 10_800, "2.0 of 3.0 h"),
        (1_230, 2_160, "20 of 36 min"),
        (31.4, 30, "31 of 30 s"),
        (25_200, 18_000, "7.0 of 5.0 h"),
    ],
)
def test_a_time_and_its_limit_have_one_unit(seconds: float, limit_s: float, text: str) -> None:
    assert part_of(seconds, limit_s) == text
