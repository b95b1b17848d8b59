"""What a journal amounts to, on journals written by hand: also what no good policy would do."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import pytest

from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import AnyEvent, Decided, Ended, Started, Stopping, Submitted
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.quota import Quota
from bastion.quota.shares import Shares
from bastion.simulate.simulation_report import SimulationReport, SizeMeasure, WaitTimes, report
from bastion.simulate.summary import Summary
from bastion.simulate.trace import EPOCH
from bastion.simulate.workload import WorkPace

POOL = {"gpu": 8, "cpu": 16}
SHARES = Shares(Quota(tiers=(POOL,), shares={name: {"gpu": Fraction(1, 2)} for name in ("a", "b")}), POOL)
PACE = WorkPace(timedelta(minutes=10))


class Diary:
    """A journal, and the account that takes it."""

    def __init__(self, until: float | None = None) -> None:
        end = None if until is None else EPOCH + timedelta(seconds=until)
        self.account = Summary(SHARES, PACE, EPOCH, end)
        self.seq = 0

    def at(self, second: float, *events: AnyEvent, decided: bool = True) -> None:
        marked = [*events, Decided()] if decided else list(events)
        now = EPOCH + timedelta(seconds=second)
        self.account.take(JournalObject(seq=self.seq, epoch=0, nonce="", now=now, events=marked))
        self.seq += 1

    def report(self) -> SimulationReport:
        self.account.close()
        return report(self.account, SizeMeasure("gpu", 8), policy="none", decisions=0, left_out={})


def submitted(job: str, gpus: int, *, count: int = 1, cpus: int = 0) -> Submitted:
    amounts = {"gpu": gpus, "cpu": cpus}
    wanted = {kind: amount for kind, amount in amounts.items() if amount}
    spec = JobSpec(name=job, user="u", project=job[0], command=["x"], resources=wanted, count=count)
    return Submitted(request=job, job=job, spec=spec)


def started(job: str, task: int = 0, attempt: int = 0) -> Started:
    return Started(job=job, task=task, attempt=attempt, runner="local", tier=0, workers=1)


def ended(job: str, task: int = 0, attempt: int = 0, *, again: bool = False) -> Ended:
    cause, outcome = (Cause.PREEMPTED, JobState.PENDING) if again else (Cause.OK, JobState.SUCCEEDED)
    return Ended(job=job, task=task, attempt=attempt, cause=cause, outcome=outcome, reason="")


def stopping(job: str, cause: Cause = Cause.PREEMPTED) -> Stopping:
    return Stopping(job=job, task=0, attempt=0, cause=cause, deadline=EPOCH, reason="")


def test_what_is_free_though_a_waiting_job_fits_is_idle_for_nothing() -> None:
    diary = Diary()
    diary.at(0, submitted("a1", 5), submitted("a2", 5), submitted("b1", 2))
    diary.at(10, started("a1"))  # 3 are free, and b1 would fit
    diary.at(30, started("b1"))  # 1 is free, and a2 would not
    diary.at(50, ended("a1"), ended("b1"), started("a2"))
    diary.at(90, ended("a2"))

    kind = diary.report().kinds["gpu"]
    assert kind.idle_though_fits == pytest.approx((8 * 10 + 3 * 20) / (8 * 90))
    assert kind.utilisation == pytest.approx((5 * 40 + 2 * 20 + 5 * 40) / (8 * 90))


def test_idle_and_violated_are_what_a_decision_left_and_not_what_came_after_it() -> None:
    diary = Diary()
    diary.at(0, submitted("a1", 8), started("a1"))
    diary.at(10, submitted("b1", 4), decided=False)
    diary.at(20)
    diary.at(30, stopping("a1"), ended("a1", again=True), started("b1"))
    diary.at(40, ended("b1"), decided=False)
    diary.at(50, started("a1", attempt=1))
    diary.at(60, ended("a1", attempt=1))

    kind = diary.report().kinds["gpu"]
    assert kind.violated_hours == pytest.approx(4 * 10 / 3600)  # from 20 to 30
    assert kind.idle_though_fits == 0


def test_a_violation_is_no_more_than_fits_the_share_nor_than_others_hold_beyond_theirs() -> None:
    diary = Diary()
    diary.at(0, submitted("a1", 5), submitted("b1", 2), submitted("b2", 3), started("a1"), started("b1"))
    # b lacks 2 of its 4: too little for b2, enough for both of b3. a holds no more than 1 beyond its 4.
    diary.at(100, submitted("b3", 1, count=2))
    diary.at(200, ended("a1"), ended("b1"), started("b2"), started("b3", 0), started("b3", 1))
    diary.at(300, ended("b2"), ended("b3", 0), ended("b3", 1))

    assert diary.report().kinds["gpu"].violated_hours == pytest.approx(1 * 100 / 3600)


def test_a_kind_without_shares_is_never_violated() -> None:
    diary = Diary()
    diary.at(0, submitted("a1", 1, cpus=16), submitted("b1", 1, cpus=1), started("a1"))
    diary.at(100, ended("a1"), started("b1"))
    diary.at(200, ended("b1"))

    kinds = diary.report().kinds
    assert (kinds["cpu"].violated_hours, kinds["gpu"].violated_hours) == (0, 0)
    assert kinds["cpu"].utilisation == pytest.approx((16 + 1) / 32)


def test_only_those_stopped_for_others_are_preempted() -> None:
    diary = Diary()
    diary.at(0, submitted("a1", 1), submitted("b1", 1), started("a1"), started("b1"))
    diary.at(10, stopping("a1", Cause.CANCELLED), stopping("b1"), ended("a1"), ended("b1", again=True))
    diary.at(20, started("b1", attempt=1))
    diary.at(30, ended("b1", attempt=1))

    done = diary.report()
    assert (done.stops, done.worst_job_stops, done.projects["a"].stops, done.projects["b"].stops) == (1, 1, 0, 1)


def test_of_an_array_each_task_waits_and_stops_are_the_jobs() -> None:
    diary = Diary()
    diary.at(0, submitted("a1", 2, count=3))
    diary.at(10, started("a1", 0), started("a1", 1))
    diary.at(20, stopping("a1"), ended("a1", 0, again=True), ended("a1", 1))
    diary.at(50, started("a1", 0, 1), started("a1", 2))
    diary.at(60, ended("a1", 0, 1), ended("a1", 2))

    done = diary.report()
    assert (done.jobs, done.waits.tasks) == (1, 3)
    assert done.waits == WaitTimes(
        3, pytest.approx((40 + 10 + 50) / 3 / 3600), 40 / 3600, 50 / 3600, 50 / 3600, 50 / 3600
    )


def test_what_never_ends_is_counted_with_what_it_waited() -> None:
    diary = Diary()
    diary.at(0, submitted("a1", 2, count=2), submitted("b1", 1), started("b1"), started("a1", 0))
    diary.at(100, ended("b1"), ended("a1", 0, again=True))
    diary.at(200)

    done = diary.report()
    assert (done.unfinished, done.waits.tasks, done.waits.max) == (1, 3, 200 / 3600)
    assert done.projects["a"].waits.mean == pytest.approx(150 / 3600)


def test_percentiles_are_waits_that_so_many_do_not_exceed() -> None:
    waits = WaitTimes.of(timedelta(hours=hours) for hours in range(100, 0, -1))

    assert (waits.p50, waits.p95, waits.p99, waits.max, waits.mean) == (50, 95, 99, 100, 50.5)
    assert WaitTimes.of([]) == WaitTimes(0, 0, 0, 0, 0, 0)
    assert WaitTimes.of([timedelta(hours=3)]) == WaitTimes(1, 3, 3, 3, 3, 3)
