"""A gang that was overtaken for too long calls in what was lent; before that nothing is kept for it."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from bastion.quota.demand import RULES, Holding, Want
from bastion.quota.resources import Resources
from tests.unit.quota.policy.fleet import NOW, ago, decide, hold, quota, started, stopped, want

H = 3600.0
LIMITS = quota({"v4": 64}, a={"v4": "0.125"}, b={"v4": "0.125"}, c={"v4": "0.75"})


def v4(amount: int) -> Resources:
    return {"v4": amount}


def gang(hours: float, *, units: int = 16, project: str = "a") -> Want:
    """Larger than its project's share, so it never has a right to room but by waiting."""
    return want("gang", project, v4(units), waited=hours * H)


def borrowers(count: int = 56, project: str = "b") -> list[Holding]:
    """One unit each, their work saved a minute ago."""
    return [replace(hold(f"s{n}", project, v4(1), age=24 * H, order=n + 1), saved=ago(60)) for n in range(count)]


def test_a_large_gang_waits_for_twenty_hours_and_then_calls_in_what_it_lacks() -> None:
    holds = borrowers()
    before = decide(LIMITS, wants=[gang(19.9)], holds=holds)
    assert (before.stops, before.starts) == ((), ())
    assert before.again == NOW + timedelta(hours=0.1)
    after = decide(LIMITS, wants=[gang(26)], holds=holds)
    assert len(after.stops) == 8, "8 are free"
    assert {stop.for_job for stop in after.stops} == {"gang"}
    assert after.stops[0].reason.startswith("room for a/gang (ann), which waited for too long: b borrows 48 v4")
    assert after.reasons["gang"].startswith("first in line")


def test_what_is_lost_for_it_grows_with_its_wait() -> None:
    holds = borrowers()
    soon = decide(LIMITS, wants=[gang(20.1)], holds=holds)
    assert (soon.stops, soon.again) == ((), NOW + timedelta(minutes=5)), "eight stops are too many yet"
    costly = [replace(row, saved=None) for row in holds]
    assert decide(LIMITS, wants=[gang(26)], holds=costly).stops == (), "a day of work of eight units"
    assert decide(LIMITS, wants=[gang(20.1)], holds=borrowers(48)).starts, "what fits needs no stop"


def test_all_its_waits_count_and_not_its_age() -> None:
    again = replace(gang(1), waited_s=26 * H)
    assert len(decide(LIMITS, wants=[again], holds=borrowers()).stops) == 8


def test_by_old_rules_a_gang_of_a_machine_is_as_patient_as_the_queue_is_long() -> None:
    small = gang(30, units=8)
    holds = [*borrowers(8, "a"), *borrowers(56)]
    holds = [replace(row, job=f"{row.project}{row.job}") for row in holds]
    assert len(decide(LIMITS, wants=[small], holds=holds, rules=4).stops) == 8
    queue = [want(f"w{n}", "b", v4(1), order=100 + n, waited=5) for n in range(64)]
    assert decide(LIMITS, wants=[small, *queue], holds=holds, rules=4).stops == ()
    assert decide(LIMITS, wants=[replace(small, demand=v4(7))], holds=holds, rules=4).stops == (), "no gang"


def test_whom_it_does_not_stop() -> None:
    def stops(change: dict[str, object], asked: Want | None = None, rules: int = RULES) -> int:
        holds = [replace(row, **change) for row in borrowers()]
        return len(decide(LIMITS, wants=[asked or gang(26)], holds=holds, rules=rules).stops)

    assert stops({}) == 8
    assert stops({"stops": 3}) == 0, "who was stopped often"
    assert stops({"job_class": 0}) == 0, "who is of a better class"
    assert stops({"project": "c"}) == 8, "c borrows 8 of its 56"
    assert stops({"project": "c"}, replace(gang(26), demand=v4(17))) == 0, "and no more"
    assert stops({"project": "a", "since": ago(1 * H)}) == 8, "who overtook it in its own project"
    assert stops({"project": "c", "since": ago(1 * H)}, replace(gang(26), project="c")) == 0, "but not within its share"
    assert stops({"project": "a", "since": ago(27 * H)}, rules=4) == 0, "by old rules: who did not overtake it"
    assert stops({"project": "a", "since": ago(1 * H)}, rules=4) == 8, "who did"
    assert stops({"project": "a", "since": ago(1 * H), "priority": 1}, rules=4) == 0, "and is more important"


def test_a_gang_that_was_overdue_gives_way_to_a_larger_one_only() -> None:
    other = replace(hold("other", "b", v4(16), age=24 * H, order=5), saved=ago(60), overdue=True)
    holds = [other, *borrowers(40, "c")]
    assert stopped(decide(LIMITS, wants=[gang(26)], holds=holds)) == []
    assert stopped(decide(LIMITS, wants=[gang(26, units=24)], holds=holds)) == [("other", 0)]


def test_who_is_started_late_is_marked_so() -> None:
    answer = decide(LIMITS, wants=[gang(26)])
    assert started(answer) == ["gang"]
    assert answer.starts[0].overdue
    assert not decide(LIMITS, wants=[gang(1)]).starts[0].overdue
