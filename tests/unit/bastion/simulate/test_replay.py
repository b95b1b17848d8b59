"""A stretch of a journal as jobs that come: when, and for how long they really ran."""

from __future__ import annotations

from datetime import timedelta

from bastion.journal.fold import fold
from bastion.model.job.spec import JobSpec
from bastion.model.settings.config import Config
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    CapacityChanged,
    Claimed,
    Ended,
    Gone,
    Started,
    Stopping,
    Submitted,
)
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.quota import Quota
from bastion.simulate.from_journal import JournalJobs
from bastion.simulate.simulated_run import RunSettings, simulate
from bastion.simulate.trace import EPOCH
from bastion.simulate.workload import Arrival, WorkPace

PACE = WorkPace(timedelta(minutes=10))


class Past:
    """A journal that happens, folded as it does; from `since` on it is replayed."""

    def __init__(self, since: float = 0) -> None:
        self.state, self.since = State(), since
        self.replay: JournalJobs | None = None

    def at(self, second: float, *events: AnyEvent) -> None:
        now = EPOCH + timedelta(seconds=second)
        record = JournalObject(seq=self.state.seq, epoch=0, nonce="", now=now, events=list(events))
        if self.replay is None and second >= self.since:
            self.replay = JournalJobs(self.state, EPOCH + timedelta(seconds=self.since), PACE)
        if self.replay is not None:
            self.replay.take(record)
        fold(self.state, record)

    def ends(self, second: float) -> list[Arrival]:
        assert self.replay is not None
        self.replay.close(EPOCH + timedelta(seconds=second))
        return self.replay.arrivals


def told(arrivals: list[Arrival]) -> dict[str, tuple[float, tuple[float, ...]]]:
    """Who comes when, and with how much work of each task."""
    return {
        each.job: ((each.at - EPOCH).total_seconds(), tuple(work.total_seconds() for work in each.work))
        for each in arrivals
    }


def submitted(job: str, **fields: object) -> Submitted:
    spec = JobSpec(name=job, user="alice", project="nlp", command=["x"], resources={"v4": 1})
    return Submitted(request=job, job=job, spec=JobSpec(**{**_fields(spec), **fields}))  # type: ignore[arg-type]


def _fields(spec: JobSpec) -> dict[str, object]:
    return {name: getattr(spec, name) for name in spec.__struct_fields__}


def begins(job: str, task: int = 0, attempt: int = 0) -> tuple[AnyEvent, ...]:
    return (
        Started(job=job, task=task, attempt=attempt, runner="local", tier=0, workers=1),
        Claimed(job=job, task=task, attempt=attempt, worker=0, machine="m"),
    )


def ends(
    job: str, cause: Cause = Cause.OK, outcome: JobState = JobState.SUCCEEDED, *, task: int = 0, attempt: int = 0
) -> tuple[AnyEvent, ...]:
    return (
        Gone(job=job, task=task, attempt=attempt, worker=0),
        Ended(job=job, task=task, attempt=attempt, cause=cause, outcome=outcome, reason=""),
    )


def stops(job: str, lost_s: float | None = None) -> Stopping:
    return Stopping(job=job, task=0, attempt=0, cause=Cause.PREEMPTED, deadline=EPOCH, reason="", lost_s=lost_s)


def test_a_job_comes_when_it_was_submitted_and_works_as_long_as_it_held_its_machines() -> None:
    past = Past()
    past.at(0, CapacityChanged(runner="local", resources={"v4": 8}))
    past.at(10, submitted("a"), submitted("b"))
    past.at(30, *begins("b"))
    past.at(100, *begins("a"), *ends("b"))
    past.at(250, *ends("a", Cause.CODE, JobState.FAILED))

    assert told(past.ends(300)) == {"a": (10, (150,)), "b": (10, (70,))}
    assert past.replay is not None
    assert (past.replay.unfinished, past.replay.unknown) == (0, 0)


def test_what_a_stop_lost_is_not_work_and_what_a_failure_took_is() -> None:
    past = Past()
    past.at(0, submitted("told"), submitted("untold"), submitted("tried", max_tries=2))
    past.at(0, *begins("told"), *begins("untold"), *begins("tried"))
    past.at(1500, stops("told", 100.0), stops("untold"))
    past.at(
        1500,
        *ends("told", Cause.PREEMPTED, JobState.PENDING),
        *ends("untold", Cause.PREEMPTED, JobState.PENDING),
        *ends("tried", Cause.CODE, JobState.PENDING),
    )
    past.at(2000, *begins("told", attempt=1), *begins("untold", attempt=1), *begins("tried", attempt=1))
    past.at(2010, *ends("told", attempt=1), *ends("untold", attempt=1), *ends("tried", attempt=1))

    # `untold`: a whole number of checkpoints, for nobody counted what it lost.
    assert told(past.ends(3000)) == {"told": (0, (1410,)), "untold": (0, (1210,)), "tried": (0, (1510,))}


def test_jobs_that_are_there_come_at_the_beginning_with_the_work_that_they_still_do() -> None:
    past = Past(since=100)
    past.at(0, submitted("runs", replicas=3, priority=2), submitted("waits"), submitted("over"))
    past.at(10, *begins("runs"), *begins("over"))
    past.at(50, *ends("over"))
    past.at(120, *begins("waits"))
    past.at(170, *ends("runs"), *ends("waits"))

    arrivals = past.ends(200)
    assert told(arrivals) == {"runs": (100, (70,)), "waits": (100, (50,))}
    runs = arrivals[0].spec
    assert (runs.demand, runs.priority, runs.user, runs.project) == ({"v4": 3}, 2, "alice", "nlp")


def test_what_still_runs_has_the_work_that_is_known_and_what_never_ran_does_not_come() -> None:
    past = Past()
    past.at(0, submitted("a"), submitted("b"))
    past.at(10, *begins("a"))

    assert told(past.ends(70)) == {"a": (0, (60,))}
    assert past.replay is not None
    assert (past.replay.unfinished, past.replay.unknown) == (1, 1)


def test_of_an_array_the_tasks_that_ran_come() -> None:
    past = Past()
    past.at(0, submitted("a", count=5))
    past.at(10, *begins("a", 0), *begins("a", 3))
    past.at(40, *ends("a", task=3))
    past.at(50, *ends("a", task=0))

    arrivals = past.ends(60)
    assert told(arrivals) == {"a": (0, (40, 30))}
    assert arrivals[0].spec.count == 2


def test_who_waited_for_jobs_that_come_waits_again_for_their_ends() -> None:
    past = Past()
    past.at(0, submitted("a"), submitted("never"))
    late = EPOCH + timedelta(hours=1)
    past.at(1, submitted("b", after=["ok:a", "any:never"], deadline=late, grace_s=30.0))
    past.at(2, *begins("a"), CancelRequested(request="r", user="alice", job="never"))
    past.at(5, *ends("a"), *begins("b"))
    past.at(9, submitted("c", after=["ok:a", "fail:b"]), *ends("b", Cause.CODE, JobState.FAILED))
    past.at(9, *begins("c"), *ends("c"))

    arrivals = past.ends(10)
    assert [each.spec.after for each in arrivals] == [[], ["any:a"], ["any:a", "any:b"]]
    assert (arrivals[1].spec.deadline, arrivals[1].spec.grace_s) == (None, 0.0)

    scene = RunSettings(quota=Quota.open({"v4": 8}), config=Config(), pace=PACE, kind="v4", log=True)
    done = simulate(scene, arrivals)
    assert [((level.at - EPOCH).total_seconds(), level.units) for level in done.levels] == [
        (0, 1), (3, 0), (3, 1), (7, 0), (9, 1), (9, 0),
    ]  # fmt: skip
    assert done.report.unfinished == 0
