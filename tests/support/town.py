"""A bastion at work, moved by hand: its bucket, its clock, its tasks and its fleet do what a test says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bastion.journal import snapshot
from bastion.journal.leadership import parse
from bastion.journal.recover import objects
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Bucket, BuildResult, BuildService
from bastion.model.layout import job_id
from bastion.model.state.state import Cause, Job, JobState
from bastion.model.stored.events import AnyEvent
from bastion.model.stored.records import Claim, Facts
from bastion.model.stored.requests import Cancel, Request, Submit
from bastion.model.stored.status import Status
from bastion.platform.system import RandomIds
from bastion.schedule.plan import plan
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.service.tick import Bastion
from tests.support.doors import FaultyBucket, HandRunner, HandTasks, memory
from tests.support.world import HandClock, spec

HALVES = """
[toml-schema]
version = "1"
[total_resources]
v4 = 4
[project_membership]
nlp = ["alice", "eve"]
vision = ["bob"]
[project_resources]
nlp = { v4 = 0.5 }
vision = { v4 = 0.5 }
"""
"""Two projects that share four units, one of them with two members."""

ME = loop.ThisBastion(name="b", host="here", boot="boot", pid=1, alive=lambda pid: True)


class HandBuilds:
    """`BuildService` whose ends are set by hand; `asked` is what was asked about, call by call."""

    def __init__(self) -> None:
        self.ends: dict[str, BuildResult | RunnerError] = {}
        self.asked: list[tuple[str, ...]] = []

    def ended(self, names: Sequence[str]) -> dict[str, BuildResult | RunnerError]:
        self.asked.append(tuple(names))
        return {name: self.ends[name] for name in names if name in self.ends}


class Town:
    """One bastion. `ticks` moves the clock by the poll before each tick."""

    def __init__(
        self,
        *files: tuple[str, str],
        poll: float = 1.0,
        bucket: Bucket | None = None,
        more: Sequence[HandRunner] = (),
        builds: BuildService | None = None,
    ) -> None:
        self.bucket, self.clock, self.tasks = FaultyBucket(bucket or memory()), HandClock(), HandTasks()
        self.runner, self.ids, self.poll = HandRunner(), RandomIds(), poll
        self.builds = HandBuilds()
        self._builds = builds or self.builds
        self.runners = {runner.name: runner for runner in more or (self.runner,)}
        for key, text in files:
            self.bucket.inner.write(key, text.encode())
        self.bastion = self.begin()

    def doors(self) -> ServiceContext:
        return ServiceContext(
            bucket=self.bucket,
            runners=self.runners,
            clock=self.clock,
            ids=self.ids,
            tasks=self.tasks,
            snapshot=lambda: snapshot.make(self.bucket.inner),
            builds=self._builds,
        )

    def begin(self) -> Bastion:
        """One more start of a bastion."""
        return loop.begin(self.doors(), ME, self.poll)

    def ticks(self, number: int = 1, every: float | None = None) -> None:
        for _ in range(number):
            self.clock.now += self.poll if every is None else every
            self.bastion.tick()

    def submits(self, **fields: Any) -> str:
        """A client's request. The job's id."""
        wanted, request = spec(**fields), self.ids.new()
        self.bucket.inner.create(layout.request(wanted.user, request), encode(Submit(spec=wanted)))
        return job_id(wanted.name, request)

    def cancels(self, job: str, user: str = "alice", task: int | None = None) -> str:
        """A client's request. Its key."""
        return self.asks(Cancel(job=job, task=task), user)

    def asks(self, request: Request, user: str = "alice") -> str:
        """A client's request. Its key."""
        key = layout.request(user, self.ids.new())
        self.bucket.inner.create(key, encode(request))
        return key

    def runs(self, job: str, attempt: int = 0, workers: int = 1) -> AttemptKey:
        """All workers of an attempt that was begun are up."""
        key = AttemptKey(job, 0, attempt)
        for worker in range(workers):
            self.claims(key, worker)
        self.ticks(2)
        assert self.job(job).state is JobState.RUNNING
        return key

    def ends(self, key: AttemptKey, cause: Cause | None, code: int | None = None) -> None:
        """The one worker of an attempt ends (None: without a word), and its machine is gone."""
        if cause is not None:
            self.says(key, cause, code)
        self.ticks(20)
        self.runner.loses(f"machine-{key}-0")
        self.ticks(3)

    def claims(self, key: AttemptKey, worker: int = 0) -> str:
        """A worker comes up. Its machine."""
        machine = f"machine-{key}-{worker}"
        self.runner.has(machine, key, worker, self.bastion.journal.epoch)
        claim = Claim(machine=machine, address="10.0.0.1", port=1000 + worker, nonce=self.ids.new())
        self.bucket.inner.create(layout.claim(key, worker), encode(claim))
        return machine

    def says(self, key: AttemptKey, cause: Cause, code: int | None = None, worker: int = 0) -> None:
        """A worker's facts: its process has ended."""
        facts = Facts(phase="ended", machine=f"machine-{key}-{worker}", cause=cause, exit_code=code)
        self.bucket.inner.write(layout.facts(key, worker), encode(facts))

    def job(self, job: str) -> Job:
        return self.bastion.journal.state.jobs[job]

    def reasons(self) -> dict[str, str]:
        """Why those wait that wait, by job."""
        return dict(plan(self.bastion.journal.state, self.bastion.inputs, self.bastion.time.now()).reasons)

    def journal(self) -> list[AnyEvent]:
        """Every event that is written."""
        return [event for record in objects(self.bucket.inner, 0) for event in record.events]

    def status(self) -> Status:
        found = parse(self.bucket.inner.read(layout.STATUS).data)
        assert found is not None
        return found

    def inbox(self) -> list[str]:
        return [stat.key for stat in self.bucket.inner.list(layout.INBOX)]
