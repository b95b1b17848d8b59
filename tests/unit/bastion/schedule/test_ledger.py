"""The ledger adds up what happened in a window, the same as somebody who counts on his fingers, wherever it begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from statistics import median
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bastion.cli.bastion.usage import read_ledger
from bastion.journal.fold import fold
from bastion.journal.recover import pack_snapshot, unpack_snapshot
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CapacityChanged,
    Claimed,
    Ended,
    FileChanged,
    Forgotten,
    Gone,
    Held,
    Released,
    Started,
    Stopping,
    Submitted,
)
from bastion.model.stored.journal_object import Gaps, JournalObject
from bastion.schedule.ledger import BY, Ledger
from bastion.schedule.ledger_table import entry_lines, total_line
from bastion.schedule.time_integral import TimeIntegral, Window
from tests.support.world import NOON, World, spec

QUOTA = """
[toml-schema]
version = "1"
[total_resources]
v4 = 8
[project_membership]
nlp = ["alice"]
vision = ["bob"]
[project_resources.nlp]
v4 = 0.75
[project_resources.vision]
v4 = 0.25
"""
MICROSECOND = timedelta(microseconds=1)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


@dataclass
class Hold:
    """What an attempt held, and from when to when."""

    job: str
    user: str
    project: str
    demand: dict[str, int]
    waits_from: datetime
    began: datetime
    ended: datetime | None = None
    task: int = 0
    number: int = 0
    stops: datetime | None = None
    for_job: str = ""


@dataclass
class Story:
    """A journal, and what really happened."""

    records: list[JournalObject] = field(default_factory=list)
    holds: list[Hold] = field(default_factory=list)
    jobs: dict[str, tuple[str, str, datetime]] = field(default_factory=dict)


class Teller:
    """Makes up a legal journal."""

    def __init__(self, seed: int, ticks: int) -> None:
        self.rng, self.story, self.now = Random(seed), Story(), 0.0
        self.waiting: dict[tuple[str, int], datetime] = {}
        self.specs: dict[str, Any] = {}
        self.held: set[str] = set()
        for tick in range(ticks):
            self.now += self.rng.choice([0, 0.25, 1, 40])
            events: list[AnyEvent] = [CapacityChanged(runner="local", resources={"v4": 8})] if not tick else []
            for _ in range(self.rng.randrange(4)):
                tell = [self.submit, self.start, self.start, self.stop, self.end, self.end, self.hold, self.release]
                events += self.rng.choice(tell)()
            self.story.records.append(JournalObject(seq=tick, epoch=1, nonce="n", now=at(self.now), events=events))

    def submit(self) -> Iterator[AnyEvent]:
        job, user = f"j{len(self.specs)}-0", self.rng.choice(["alice", "bob", "eve"])
        wanted = spec(
            name=job[:-2], user=user, project=self.rng.choice(["nlp", "vision"]), count=self.rng.choice([1, 1, 3]),
            replicas=self.rng.choice([1, 2]), resources=self.rng.choice([{"v4": 2}, {"cpu": 1, "v4": 1}, {}]),
        )  # fmt: skip
        self.specs[job] = wanted
        self.story.jobs[job] = (user, wanted.project, at(self.now))
        for task in range(wanted.count):
            self.waiting[job, task] = at(self.now)
        yield Submitted(request=f"{user}/{job}", job=job, spec=wanted)

    def start(self) -> Iterator[AnyEvent]:
        free = sorted(each for each in self.waiting if each[0] not in self.held)
        if not free:
            return
        job, task = self.rng.choice(free)
        wanted = self.specs[job]
        number = sum(hold.job == job and hold.task == task for hold in self.story.holds)
        demand = {kind: amount * wanted.replicas for kind, amount in wanted.resources.items()}
        since = self.waiting.pop((job, task))
        self.story.holds.append(
            Hold(job, wanted.user, wanted.project, demand, since, at(self.now), task=task, number=number)
        )
        yield Started(job=job, task=task, attempt=number, runner="local", tier=0, workers=1)
        yield Claimed(job=job, task=task, attempt=number, worker=0, machine="m")

    def hold(self) -> Iterator[AnyEvent]:
        if self.waiting:
            job = self.rng.choice(sorted(self.waiting))[0]
            self.held.add(job)
            yield Held(request=f"h{self.now}-{len(self.held)}", user="eve", job=job)

    def release(self) -> Iterator[AnyEvent]:
        if self.waiting:
            job = self.rng.choice(sorted({name for name, _ in self.waiting}))
            if job in self.held:
                for task in [task for name, task in self.waiting if name == job]:
                    self.waiting[job, task] = max(self.waiting[job, task], at(self.now))
            self.held.discard(job)
            yield Released(request=f"r{self.now}", user="eve", job=job)

    def stop(self) -> Iterator[AnyEvent]:
        live = [hold for hold in self.story.holds if hold.ended is None and hold.stops is None]
        if not live:
            return
        hold = self.rng.choice(live)
        cause = self.rng.choice([Cause.PREEMPTED, Cause.PREEMPTED, Cause.TIME_LIMIT])
        if cause is Cause.PREEMPTED:
            hold.for_job = self.rng.choice(["", *(job for job, _ in self.waiting)])
        hold.stops = at(self.now) if cause is Cause.PREEMPTED else datetime.max.replace(tzinfo=NOON.tzinfo)
        yield Stopping(
            job=hold.job, task=hold.task, attempt=hold.number, cause=cause, deadline=at(self.now), reason="r",
            for_job=hold.for_job,
        )  # fmt: skip

    def end(self) -> Iterator[AnyEvent]:
        live = [hold for hold in self.story.holds if hold.ended is None]
        if not live:
            return
        hold = self.rng.choice(live)
        hold.ended = at(self.now)
        outcome = self.rng.choice([JobState.PENDING, JobState.SUCCEEDED])
        ready = at(self.now + 30) if self.rng.random() < 0.5 and outcome is JobState.PENDING else None
        if outcome is JobState.PENDING:
            self.waiting[hold.job, hold.task] = ready or at(self.now)
        this = {"job": hold.job, "task": hold.task, "attempt": hold.number}
        yield Gone(**this, worker=0)  # type: ignore[arg-type]
        yield Ended(**this, cause=Cause.OK, outcome=outcome, reason="", ready_at=ready)  # type: ignore[arg-type]
        if outcome is JobState.SUCCEEDED and self.rng.random() < 0.3 and self._is_over(hold.job):
            yield Forgotten(jobs=[hold.job])

    def _is_over(self, job: str) -> bool:
        live = any(hold.job == job and hold.ended is None for hold in self.story.holds)
        return not live and all(name != job for name, _ in self.waiting)


def counted(story: Story, window: Window, by: str) -> dict[str, tuple[Any, ...]]:
    """The same, naively: every attempt against the window."""
    who = {job: {"user": user, "project": project, "job": job}[by] for job, (user, project, _) in story.jobs.items()}
    out: dict[str, tuple[Any, ...]] = {}
    for name in set(who.values()):
        jobs = {job for job, owner in who.items() if owner == name and window.holds(story.jobs[job][2])}
        units: dict[str, int] = {}
        holds = [hold for hold in story.holds if hold.began < window.until]
        for hold in holds:
            if who[hold.job] != name or (hold.ended is not None and hold.ended < window.since):
                continue
            jobs.add(hold.job)
            end = min(hold.ended or window.until, window.until)
            length = max(timedelta(0), end - max(hold.began, window.since)) // MICROSECOND
            for kind, amount in hold.demand.items():
                units[kind] = units.get(kind, 0) + amount * length
        waits = sorted(
            (hold.began - hold.waits_from) // MICROSECOND
            for hold in holds if who[hold.job] == name and window.holds(hold.began)
        )  # fmt: skip
        stops = [hold for hold in story.holds if hold.stops and window.holds(hold.stops)]
        suffered = sum(who[hold.job] == name for hold in stops)
        caused = sum(who.get(hold.for_job) == name for hold in stops)
        jobs |= {hold.for_job for hold in stops if who.get(hold.for_job) == name}
        row = (len(jobs), {k: n for k, n in units.items() if n}, [max(0, wait) for wait in waits], suffered, caused)
        if row != (0, {}, [], 0, 0):
            out[name] = row
    return out


def told(ledger: Ledger) -> dict[str, tuple[Any, ...]]:
    """What a ledger says, in the same form."""
    return {
        name: (
            entry.jobs,
            {kind: sum(integral.sums) for kind, integral in entry.held.items() if sum(integral.sums)},
            sorted(entry.waits),
            entry.suffered,
            entry.caused,
        )
        for name, entry in ledger.entries.items()
    }


def added_up(records: list[JournalObject], window: Window, by: str, state: State | None = None) -> Ledger:
    ledger = Ledger(window, BY[by], state)
    for record in records:
        if not ledger.take(record):
            break
    ledger.close()
    return ledger


@given(
    seed=st.integers(0, 10**6),
    begin=st.integers(0, 300),
    length=st.integers(1, 400),
    parts=st.integers(1, 7),
    by=st.sampled_from(sorted(BY)),
)
def test_it_is_the_same_as_counting_on_fingers(seed: int, begin: int, length: int, parts: int, by: str) -> None:
    story = Teller(seed, 40).story
    window = Window(at(begin), at(begin + length), parts)

    assert told(added_up(story.records, window, by)) == counted(story, window, by)


@given(seed=st.integers(0, 10**6), length=st.integers(1, 400), by=st.sampled_from(sorted(BY)))
def test_a_snapshot_from_before_the_window_is_as_good_as_the_whole_journal(seed: int, length: int, by: str) -> None:
    story, state = Teller(seed, 40).story, State()
    cut = 1 + Random(seed).randrange(30)
    for record in story.records[:cut]:
        fold(state, record)
    state = unpack_snapshot(pack_snapshot(state), "it")
    since = story.records[cut - 1].now + MICROSECOND
    window = Window(since, since + timedelta(seconds=length), 3)

    whole, rest = added_up(story.records, window, by), added_up(story.records[cut:], window, by, state)

    assert told(rest) == told(whole) == counted(story, window, by)
    assert {key: integral.sums for key, integral in rest.capacity.items()} == {
        k: integral.sums for k, integral in whole.capacity.items()
    }


@given(
    changes=st.lists(st.tuples(st.integers(0, 100), st.integers(-3, 3)), max_size=8),
    since=st.integers(0, 60),
    length=st.integers(1, 60),
    parts=st.integers(1, 9),
)
def test_a_meter_sums_each_part_exactly(changes: list[tuple[int, int]], since: int, length: int, parts: int) -> None:
    window = Window(NOON + since * MICROSECOND, NOON + (since + length) * MICROSECOND, parts)
    integral = TimeIntegral(window)
    for moment, amount in sorted(changes):
        integral.add(window.place(NOON + moment * MICROSECOND), amount)
    integral.advance(window.length)

    levels = [sum(amount for moment, amount in changes if moment <= now) for now in range(since, since + length)]
    edges = [window.edge(part) for part in range(parts + 1)]
    assert integral.sums == [sum(levels[edges[part] : edges[part + 1]]) for part in range(parts)]


def added(world: World, window: Window, by: str, gaps: Gaps | None = None) -> Ledger:
    return read_ledger(world.bucket, window, BY[by], world.tasks.map, gaps or Gaps())


def test_jobs_without_an_entry_are_left_out_and_what_waits_for_them_is_not() -> None:
    story = Teller(7, 60).story
    window = Window(at(0), at(500))
    whole = added_up(story.records, window, "job")
    chosen = sorted(whole.entries)[::2]

    part = Ledger(window, lambda job, job_id: job_id if job_id in chosen else None)
    for record in story.records:
        part.take(record)
    part.close()

    assert 0 < len(chosen) < len(whole.entries)
    assert told(part) == {job: row for job, row in told(whole).items() if job in chosen}
    assert sum(part.later.values()) <= sum(whole.later.values())


def test_what_runs_is_counted_up_to_the_windows_end() -> None:
    world = World()
    world.runs(world.submitted(resources={"v4": 2}, replicas=2))
    world.clock.now = 7_200

    ledger = added(world, Window(at(3_600), at(7_200)), "project")

    assert entry_lines(ledger, "project")[0].unit_hours == {"v4": 4.0}


def test_shares_are_counted_as_they_were_promised_at_the_time() -> None:
    world = World()
    world.clock.now = 3_600
    world.happens(FileChanged(file="quota", version="1", text=QUOTA))
    world.clock.now = 7_200
    world.happens(CapacityChanged(runner="local", resources={"v4": 4}))
    world.clock.now = 10_800

    ledger = added(world, Window(at(0), at(10_800)), "project")
    shares = {line.who: line.share_hours for line in entry_lines(ledger, "project")}

    assert shares == {"nlp": {"v4": 6.0 + 3.0}, "vision": {"v4": 2.0 + 1.0}}
    assert total_line(ledger, []).share_hours == {"v4": 8.0 + 8.0 + 4.0, "cpu": 4.0 + 4.0}


def test_medians_and_percentiles_of_waits() -> None:
    world = World()
    for number in range(20):
        job = world.submitted(f"{number:032d}", name=f"j{number}")
        world.clock.now += number + 1
        world.runs(job)

    (line,) = entry_lines(added(world, Window(at(0), at(10_000)), "user"), "user")

    assert (line.wait_median_s, line.wait_p95_s, line.starts) == (median(range(1, 21)), 19.0, 20)


def test_reading_begins_at_the_snapshot_and_ends_with_the_window() -> None:
    world = World()
    job = world.submitted(resources={"v4": 8})
    world.runs(job)
    state = world.look().state
    world.bucket.create(f"snapshots/{state.seq:012d}.json.zst", pack_snapshot(state))
    world.bucket.create(f"snapshots/{9:012d}.json.zst", b"damaged")
    world.bucket.create("snapshots/strange", b"")
    world.clock.now = 3_600
    world.submitted("s" * 32)
    world.clock.now = 9_000
    world.submitted("t" * 32)
    world.submitted("u" * 32)
    world.bucket.write("journal/000000000000.json", b"is not read")
    world.bucket.write("journal/000000000006.json", b"is not needed")

    (line,) = entry_lines(added(world, Window(at(1_800), at(9_000)), "user"), "user")

    assert (line.jobs, line.unit_hours) == (2, {"v4": 16.0})


def test_a_hole_in_the_journal_is_named_and_nobody_has_less_than_nothing() -> None:
    world, gaps = World(), Gaps()
    lost = world.runs(world.submitted("a" * 32, name="lost", resources={"v4": 2}))
    kept = world.runs(world.submitted("b" * 32, name="kept", resources={"v4": 1}))
    world.clock.now = 3_600
    world.ends(lost, Cause.OK, JobState.SUCCEEDED, code=0)
    world.ends(kept, Cause.OK, JobState.SUCCEEDED, code=0)
    world.bucket.delete(["journal/000000000002.json"])  # lost begins

    lines = entry_lines(added(world, Window(at(0), at(7_200)), "job", gaps), "job")

    assert {line.who: line.unit_hours for line in lines} == {"kept-bbbbbbbb": {"v4": 1.0}, "lost-aaaaaaaa": {}}
    assert [(hole.first, hole.problem) for hole in gaps.found] == [(2, "journal object 2 is missing")]
