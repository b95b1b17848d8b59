"""The journal knows when jobs last saved, from very few events: a rhythm is told once, and what breaks it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from statistics import mean
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.journal.fold import apply, concerned
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import IllegalMove
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Attempt, Cause, JobState, State
from bastion.model.stored.events import AnyEvent, Claimed, Ended, Gone, Saved, Started, Stopping, Submitted
from bastion.model.stored.records import BEAT_S, Facts
from bastion.schedule.held_work import saved
from bastion.service.checkpoints import BREAKS, CALM, LOOK, SLACK_S, Checkpoints
from bastion.service.observations import FactsRead
from tests.depth import examples
from tests.support.doors import folded
from tests.support.town import Town
from tests.support.world import NOON, spec

KEY = AttemptKey("j", 0, 0)
AT: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}
DAY_S = 86_400.0


def after(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


class Job:
    """A job that runs from noon on, and what the journal hears of its checkpoints at each heartbeat."""

    def __init__(self, workers: int = 1) -> None:
        self.state = folded(
            Submitted(request="r", job="j", spec=spec(replicas=workers)),
            Started(**AT, runner="local", tier=0, workers=workers),
            *(Claimed(**AT, worker=worker, machine=f"m{worker}") for worker in range(workers)),
        )
        self.listener = Checkpoints()
        self.events: list[Saved] = []
        self.now_s = self.last = self.coming = 0.0

    @property
    def attempt(self) -> Attempt:
        attempt = self.state.attempt(KEY)
        assert attempt
        return attempt

    def beat(self, at_s: float, *said: tuple[int, datetime]) -> list[Saved]:
        """One heartbeat: these workers tell of these checkpoints."""
        heard = [FactsRead(KEY, worker, reports(at)) for worker, at in said]
        told = self.listener.news(self.state, heard, after(at_s))
        for event in told:
            apply(self.state, event, 0, 0)
        self.events += told
        return told

    def goes_on(self, checkpoints: Iterator[float], until_s: float = DAY_S) -> list[float]:
        """Heartbeats while it saves at these seconds after noon. By how much the state was wrong, at each of them."""
        wrong = []
        self.coming = self.coming or next(checkpoints)
        while self.now_s < until_s:
            self.now_s += BEAT_S
            new = None
            while self.coming <= self.now_s:
                self.last = new = self.coming
                self.coming = next(checkpoints)
            self.beat(self.now_s, *([(0, after(new))] if new is not None else []))
            known = saved(self.attempt, after(self.now_s))
            if known:
                wrong.append(abs((known - after(self.last)).total_seconds()))
        return wrong


def reports(at: datetime | None, machine: str = "m") -> Facts:
    return Facts(phase="running", machine=machine, checkpoint_at=at)


def every(interval: Callable[[], float], start: float = 0.0) -> Iterator[float]:
    at = start
    while True:
        at += max(1.0, interval())
        yield at


RHYTHMS: dict[str, tuple[Callable[[Random], Callable[[], float]], float, float]] = {
    # the interval; the most events that a day may have; the mean error, in intervals of 600 s
    "regular": (lambda rng: lambda: 600.0, 2, 0.05),
    "a clock's jitter": (lambda rng: lambda: rng.gauss(600, 6), 6, 0.3),
    "steps of unequal length": (lambda rng: lambda: rng.gauss(600, 120), 20, 0.5),
    "no rhythm at all": (lambda rng: lambda: rng.expovariate(1 / 600), 24, 1.0),
    "a pause now and then": (lambda rng: lambda: 600.0 + 300 * (rng.random() < 0.1), 20, 0.4),
    "every five seconds": (lambda rng: lambda: 5.0, 2, 0.05),
}


@pytest.mark.parametrize("rhythm", RHYTHMS)
def test_a_day_of_any_rhythm_is_told_in_few_events_and_known_well(rhythm: str) -> None:
    interval, most, error = RHYTHMS[rhythm]
    job = Job()
    wrong = job.goes_on(every(interval(Random(1))))
    assert 1 <= len(job.events) <= most
    assert mean(wrong) <= error * 600
    assert len(encode(job.events[-1])) < 150


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 2**32), st.floats(30, 7_200), st.floats(0.1, 3))
def test_no_rhythm_costs_more_than_eight_events_and_two_in_two_hours(seed: int, mean_s: float, wildness: float) -> None:
    rng, job = Random(seed), Job()
    job.goes_on(every(lambda: rng.lognormvariate(0, wildness) * mean_s), until_s=DAY_S / 2)
    assert len(job.events) <= 2 + 2 * (BREAKS + (DAY_S / 2) / CALM.total_seconds())


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(61, 7_200), st.integers(0, 3_000), st.integers(0, 2**32))
def test_a_regular_job_is_foreseen_to_within_the_slack_from_its_second_checkpoint_on(
    interval: int, start: int, seed: int
) -> None:
    job, rng = Job(), Random(seed)
    checkpoints = every(lambda: interval, start)
    late_s = LOOK.total_seconds() + BEAT_S
    job.goes_on(checkpoints, until_s=start + 2 * interval + late_s)
    assert 1 <= len(job.events) <= 2
    count = len(job.events)
    job.goes_on(checkpoints, until_s=start + 20 * interval)
    assert len(job.events) == count
    now_s = start + rng.randrange(3 * interval, 20 * interval)
    known = saved(job.attempt, after(now_s))
    assert known
    last_s = start + (now_s - start) // interval * interval
    assert min(abs((known - after(last_s + by)).total_seconds()) for by in (-interval, 0, interval)) <= SLACK_S


def test_the_first_checkpoint_is_told_and_the_second_says_how_often() -> None:
    job = Job()
    assert job.beat(15) == []
    assert job.beat(75, (0, after(70))) == [Saved(**AT, at=after(70))]
    assert job.beat(700, (0, after(670))) == [Saved(**AT, at=after(670), every_s=600.0)]
    assert job.beat(1300, (0, after(1271))) == [], "as foreseen"
    assert [saved(job.attempt, after(s)) for s in (1269, 1270, 9_000)] == [after(670), after(1270), after(8_470)]


def test_a_checkpoint_that_does_not_come_is_not_foreseen_any_more_and_the_next_is_told() -> None:
    job = Job()
    job.goes_on(iter([600.0, 1200.0, 1800.0, 1e9]), until_s=3_000)
    assert job.events[-1] == Saved(**AT, at=after(1800))
    assert saved(job.attempt, after(80_000)) == after(1800)
    (resumed,) = job.beat(80_100, (0, after(80_000)))
    assert resumed.at == after(80_000)


def test_many_steps_are_reported_and_only_a_checkpoint_counts() -> None:
    job = Job()
    job.beat(75, (0, after(70)))
    assert [job.beat(75 + 60.0 * n, (0, after(70))) for n in range(1, 100)] == [[]] * 99


def test_of_a_gang_the_oldest_of_those_that_report_counts() -> None:
    job = Job(workers=3)
    job.beat(75, (0, after(60)))
    job.beat(700, (0, after(660)), (2, after(620)))
    assert saved(job.attempt, after(700)) == after(620)


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (after(-9_999), NOON),
        (after(9_999), after(75)),
        (after(30.75).astimezone(timezone(timedelta(hours=9))), after(30)),
        (datetime(2, 1, 1, tzinfo=timezone(timedelta(hours=9))), NOON),
        (datetime(9998, 12, 31, tzinfo=UTC), after(75)),
    ],
)
def test_a_workers_clock_may_be_anything(said: datetime, known: datetime) -> None:
    job = Job()
    job.beat(75, (0, said))
    assert saved(job.attempt, after(75)) == known
    assert saved(job.attempt, NOON) == NOON, "never later than now"


def test_who_forgot_what_it_heard_begins_anew_without_false_alarm() -> None:
    job = Job()
    checkpoints = every(lambda: 600.0)
    job.goes_on(checkpoints, until_s=30_000)
    before = list(job.events)
    job.listener = Checkpoints()  # a restart of the bastion; meanwhile workers went on
    assert job.beat(36_000) == []
    assert job.beat(36_075, (0, after(36_000))) == []
    assert job.events == before


def test_nothing_is_told_of_attempts_that_stop_or_have_ended() -> None:
    job = Job()
    job.beat(75, (0, after(60)))
    apply(job.state, Stopping(**AT, cause=Cause.PREEMPTED, deadline=NOON, reason="", lost_s=90.0), 0, 0)
    assert job.beat(700, (0, after(660))) == []
    assert job.attempt.lost_s == 90.0
    for event in (Gone(**AT, worker=0), Ended(**AT, cause=Cause.PREEMPTED, outcome=JobState.PENDING, reason="")):
        apply(job.state, event, 0, 0)
    assert job.beat(1400, (0, after(1260))) == []
    with pytest.raises(IllegalMove, match="is not live"):
        apply(job.state, Saved(**AT, at=NOON), 0, 0)
    assert job.beat(1500, (0, after(1400))) == job.listener.news(State(), [], after(1600)) == []


@pytest.mark.parametrize("every_s", [0.0, -1.0, 0.5])
def test_an_interval_below_a_second_is_refused(every_s: float) -> None:
    job = Job()
    with pytest.raises(IllegalMove, match="cannot be saved every"):
        apply(job.state, Saved(**AT, at=NOON, every_s=every_s), 0, 0)


def test_intervals_are_a_second_at_least_whatever_a_worker_says() -> None:
    job = Job()
    job.beat(15)
    job.beat(20.2, (0, after(9_000)))
    job.beat(20.6, (0, after(9_001)))
    assert job.beat(80) == [Saved(**AT, at=after(20.6), every_s=1.0)]


def test_checkpoints_are_no_part_of_a_jobs_history() -> None:
    event: AnyEvent = Saved(**AT, at=NOON)
    assert concerned(event) == ()


def test_a_bastion_hears_of_checkpoints_and_journals_them() -> None:
    town = Town()
    job = town.submits()
    town.ticks(2)
    key = town.runs(job)
    at = town.clock.wall()
    town.bucket.inner.write(layout.facts(key, 0), encode(reports(at, f"machine-{key}-0")))
    for beat in range(8):
        town.bucket.inner.write(layout.beat(key, 0), str(beat).encode())
        town.ticks(10)
    told = [event for event in town.journal() if isinstance(event, Saved)]
    assert told == [Saved(job=job, task=0, attempt=0, at=at)]
    assert town.job(job).tasks[0].attempts[0].saved == at
