"""An old bastion's bucket: a journal of a million events in 100,000 objects and more, with its snapshots and its traces."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from bastion.journal import recover, retirement
from bastion.journal.journal import Journal
from bastion.journal.snapshot import FAR, FAR_BYTES
from bastion.model import layout
from bastion.model.interfaces import Bucket, Stat, StoredObject
from bastion.model.job.spec import JobSpec
from bastion.model.layout import job_id
from bastion.model.settings.config import Config, render
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CapacityChanged,
    Claimed,
    Ended,
    Exited,
    FileChanged,
    Forgotten,
    Gone,
    Started,
    Submitted,
)
from bastion.platform.system import RandomIds, SystemClock
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.bench import jobs

EVENTS = 1_000_000
FAT = 390_000
"""Of so many events, thousands lie in one object; the others came six at a time."""

PENDING = 10_000
BATCH = 2_000
TICK = timedelta(seconds=30)


class Quick:
    """A `Bucket` in a folder that does not wait for the disk: only to be built in."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._inner: Bucket = PrefixedBucket(LocalBucket(f"file://{folder}", create=True), "b")
        self.url = self._inner.url
        self._made: set[str] = set()
        self.written = 0

    def create(self, key: str, data: bytes) -> str | None:
        path = f"{self._folder}/b/{key}"
        parent = os.path.dirname(path)
        if parent not in self._made:
            os.makedirs(parent, exist_ok=True)
            self._made.add(parent)
        with open(path, "wb") as file:
            file.write(data)
        self.written += len(data)
        return "1"

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        return self._inner.read(key, limit)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        return self._inner.replace(key, data, version)

    def write(self, key: str, data: bytes) -> str:
        return self._inner.write(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        self._inner.delete(keys)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        return self._inner.list(prefix, after=after)


class Past:
    """Lets time pass in a bucket.

    `told` are some jobs from all ages, by what they stand for; `lived` is when each of them had not ended yet.
    """

    def __init__(self, folder: Path, now: datetime) -> None:
        self.bucket, self.root = Quick(folder), f"file://{folder}"
        self._ids = RandomIds()
        self._journal = Journal(self.bucket, SystemClock(), self._ids, State())
        self._now = now
        self._random = Random(1)
        self._milestone = (0, 0)
        self.events = 0
        self.told: dict[str, str] = {}
        self.lived: dict[str, datetime] = {}

    @property
    def state(self) -> State:
        return self._journal.state

    def happens(self, events: Iterable[AnyEvent]) -> None:
        """A tick."""
        self._journal.begin(self._now)
        for event in events:
            assert self._journal.add(event), event
            self.events += 1
        self._journal.commit()
        self._now += TICK
        if self.state.seq - self._milestone[0] >= FAR or self.bucket.written - self._milestone[1] >= FAR_BYTES:
            self.snapshot()

    def snapshot(self) -> None:
        """One that stays."""
        self.bucket.create(layout.snapshot(self.state.seq), recover.pack_snapshot(self.state))
        self._milestone = self.state.seq, self.bucket.written

    def tells(self, what: str, job: str) -> None:
        """This job stands for something, and lives now."""
        self.told[what] = job
        self.lived[what] = self._now

    def settles(self) -> None:
        """Settings and quota are in force."""
        config = render(Config(capacity=dict(jobs.CAPACITY)))
        self.bucket.write(layout.CONFIG, config.encode())
        quota = FileChanged(file="quota", version="1", text=jobs.quota())
        self.happens([quota, FileChanged(file="config", version="1", text=config)])
        self.happens([CapacityChanged(runner="local", resources=dict(jobs.CAPACITY))])

    def fat(self, specs: Iterator[JobSpec]) -> None:
        """Thousands of jobs come, run and end together."""
        coming = [self._submitted(spec) for _, spec in zip(range(BATCH), specs, strict=False)]
        self.happens(coming)
        names = [event.job for event in coming]
        if not self.told:
            self.tells("the oldest, among thousands", names[BATCH // 2])
        for stage in (_starts, _claims, _ends):
            self.happens(event for job in names for event in stage(job))

    def slim(self, specs: Iterator[JobSpec], ticks: int) -> None:
        """Jobs come one by one, and each goes on by one step a tick."""
        road: list[list[str]] = [[], [], []]
        for number in range(ticks):
            come = self._submitted(next(specs))
            steps = zip((_starts, _claims, _ends), road, strict=True)
            self.happens([come, *(event for stage, names in steps for job in names for event in stage(job))])
            road = [[come.job], *road[:2]]
            if number == ticks // 2:
                self.tells("from the middle", come.job)
            if number % 5_000 == 4_999:
                self.forgets()
        self.tells("the newest that ended", road[2][0])

    def forgets(self) -> None:
        """Jobs that ended long ago leave."""
        leaving = retirement.retirable(self.state, self._now)
        names = retirement.remove(self.bucket, leaving)
        for start in range(0, len(names), BATCH):
            self.happens([Forgotten(jobs=list(names[start : start + BATCH]))])
        old = list(self.state.requests)[:-PENDING]
        for start in range(0, len(old), BATCH):
            self.happens([Forgotten(requests=old[start : start + BATCH])])

    def waits(self, specs: Iterator[JobSpec]) -> None:
        """Many wait, and something else happens after the newest snapshot."""
        coming = [self._submitted(spec) for _, spec in zip(range(PENDING), specs, strict=False)]
        self.happens(coming)
        self.tells("one that waits", coming[PENDING // 2].job)
        self.snapshot()
        for number in range(64):
            self.happens([CapacityChanged(runner="local", resources={**jobs.CAPACITY, "cpu": 1_024 + number % 2})])

    def _submitted(self, spec: JobSpec) -> Submitted:
        request = f"{self._random.getrandbits(128):032x}"
        return Submitted(request=f"{spec.user}/{request}", job=job_id(spec.name, request), spec=spec)


def queue(folder: Path, now: datetime) -> Past:
    """No history: of 10,000 jobs some have ended, some run, and most wait."""
    past = Past(folder, now - 10 * TICK)
    past.settles()
    specs = jobs.specs(PENDING + BATCH)
    past.fat(itertools.islice(specs, BATCH))
    past.waits(itertools.islice(specs, PENDING - BATCH))
    return past


def build(folder: Path, now: datetime) -> Past:
    """All of it. `now` is when it ends, about."""
    ticks = (EVENTS - FAT) // 6
    past = Past(folder, now - TICK * (ticks + 1_000))
    past.settles()
    specs = jobs.specs(10 * EVENTS)
    while past.events < FAT:
        past.fat(specs)
    past.slim(specs, ticks)
    past.waits(specs)
    return past


def _starts(job: str) -> list[AnyEvent]:
    return [Started(job=job, task=0, attempt=0, runner="local", tier=0, workers=1)]


def _claims(job: str) -> list[AnyEvent]:
    return [Claimed(job=job, task=0, attempt=0, worker=0, machine=f"pid-{job}", address="127.0.0.1", port=4_242)]


def _ends(job: str) -> list[AnyEvent]:
    return [
        Exited(job=job, task=0, attempt=0, worker=0, cause=Cause.CODE, exit_code=1, message="ValueError: boom"),
        Gone(job=job, task=0, attempt=0, worker=0),
        Ended(
            job=job, task=0, attempt=0, cause=Cause.CODE, outcome=JobState.FAILED, exit_code=1,
            reason="exit code 1: ValueError: boom",
        ),
    ]  # fmt: skip
