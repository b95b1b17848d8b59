"""A bastion's bucket as readers find it: a journal written by hand, on a clock that only tests move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bastion.journal.journal import Journal
from bastion.launcher.read.reader import BastionReader
from bastion.launcher.read.view import View
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey, Bucket
from bastion.model.job.spec import JobSpec, new_jobspec
from bastion.model.layout import job_id
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import AnyEvent, CapacityChanged, Claimed, Ended, Gone, Started, Submitted
from bastion.model.stored.requests import Submit
from bastion.model.stored.status import Status
from bastion.platform.system import RandomIds, ThreadTasks
from bastion.stores.memory import MemoryBucket

NOON = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)


@dataclass
class HandClock:
    """Time that moves when somebody sleeps; `script` are things that happen at such a moment, one a sleep."""

    now: float = 0.0
    script: list[Callable[[], object]] = field(default_factory=list)

    def wall(self) -> datetime:
        """Noon, and what was slept since."""
        return NOON + timedelta(seconds=self.now)

    def monotonic(self) -> float:
        """What was slept."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Move on, and let the next thing happen."""
        self.now += seconds
        if self.script:
            self.script.pop(0)()


class World:
    """One bastion's bucket. What happens is told as events, and journalled at once."""

    def __init__(self, bucket: Bucket | None = None, *, reported: bool = True) -> None:
        self.clock = HandClock()
        self.bucket = bucket or MemoryBucket(f"memory://{RandomIds().new()}")
        self.tasks = ThreadTasks(width=1)
        self.journal = Journal(self.bucket, self.clock, RandomIds(), State())
        if reported:
            self.happens(CapacityChanged(runner="local", resources={"v4": 8, "cpu": 4}))

    def happens(self, *events: AnyEvent) -> None:
        """Journal these events."""
        self.journal.begin(self.clock.wall())
        assert all(self.journal.add(event) for event in events), events
        self.journal.commit()

    def asked(self, request_id: str = "r" * 32, **fields: Any) -> JobSpec:
        """A submit lies in the inbox."""
        wanted = spec(**fields)
        self.bucket.create(layout.request(wanted.user, request_id), encode(Submit(spec=wanted)))
        return wanted

    def submitted(self, request_id: str = "r" * 32, **fields: Any) -> str:
        """A job was read. Its id."""
        wanted = spec(**fields)
        job = job_id(wanted.name, request_id)
        self.happens(Submitted(request=f"{wanted.user}/{request_id}", job=job, spec=wanted))
        return job

    def runs(self, job: str, *, task: int = 0, attempt: int = 0, workers: int = 1) -> AttemptKey:
        """An attempt has begun, and all its workers are up."""
        at = {"job": job, "task": task, "attempt": attempt}
        self.happens(Started(**at, runner="local", tier=0, workers=workers))  # type: ignore[arg-type]
        self.happens(*(Claimed(**at, worker=n, machine=f"m{n}", address=f"10.0.0.{n}") for n in range(workers)))  # type: ignore[arg-type]
        return AttemptKey(job, task, attempt)

    def ends(
        self,
        key: AttemptKey,
        cause: Cause,
        outcome: JobState,
        *,
        code: int | None = None,
        reason: str = "",
        **more: Any,
    ) -> None:
        """An attempt is over."""
        at = {"job": key.job, "task": key.task, "attempt": key.attempt}
        attempt = self.journal.state.attempt(key)
        assert attempt is not None
        self.happens(*(Gone(**at, worker=n) for n in range(len(attempt.workers))))  # type: ignore[arg-type]
        self.happens(Ended(**at, cause=cause, outcome=outcome, reason=reason, exit_code=code, **more))  # type: ignore[arg-type]

    def prints(self, key: AttemptKey, text: str, *, worker: int = 0, number: int = 0) -> None:
        """A worker stores a segment of its log; an empty one ends it."""
        self.bucket.create(layout.segment(layout.log(key, worker), number), text.encode())

    def ticks(self, *, state: str = "running") -> None:
        """The bastion gives a sign of life."""
        self.bucket.write(layout.STATUS, encode(status(self.clock.wall(), state=state)))

    def reader(self) -> BastionReader:
        """A reader of everything."""
        return BastionReader(self.bucket, self.clock, self.tasks)

    def look(self) -> View:
        """What a reader sees now."""
        return self.reader().look()


def spec(**fields: Any) -> JobSpec:
    """A small job of alice's, with these fields changed."""
    small = {"name": "j", "user": "alice", "project": "default", "command": ["true"], "resources": {"cpu": 1}}
    return new_jobspec(**{**small, **fields})


def status(at: datetime, *, state: str = "running", capacity: dict[str, int] | None = None) -> Status:
    """A sign of life of a bastion that ticked at this time."""
    return Status(
        name="b", state=state, epoch=1, nonce="n", pid=1, host="h", boot="b", version="0", seq=0, ticks=1, written=at,
        last_tick=at, poll_s=1.0, counts={}, capacity=capacity or {}, problems=[],
    )  # fmt: skip
