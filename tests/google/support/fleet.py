"""A bastion's reconciler with one of Google's runners on the fake: jobs come, lose their machines, and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bastion.journal.fold import apply
from bastion.journal.leadership import LeaderWindow
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import new_jobspec
from bastion.model.state.state import AttemptState, Cause, State
from bastion.model.stored.events import AnyEvent, Started, Submitted
from bastion.model.stored.records import Facts
from bastion.platform.system import RandomIds
from bastion.runners.google.machines.google_context import GoogleContext
from bastion.runners.google.machines.names import host_of
from bastion.schedule.desired import desired
from bastion.schedule.lifecycle import settle
from bastion.service.observations import FactsRead, Sighting, UnreadableObject, note
from bastion.service.reconcile import Reconciler
from bastion.service.spec_cache import SpecCache
from bastion.stores.memory import MemoryBucket
from bastion.testing.fleets import sealing
from tests.google.fake import Fake
from tests.google.fake.desk import Asked
from tests.google.support.crew import Crew
from tests.google.support.kinds import SCOPE, FakesClock, Kind, at_once
from tests.google.support.near import NearGoogle
from tests.support.doors import memory

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Fleet:
    """State, bucket and reconciler of one bastion. Its workers claim as soon as their hosts are up, and run until `end`."""

    kind: Kind
    more: dict[str, Any] = field(default_factory=dict)
    bucket: MemoryBucket = field(default_factory=memory)
    state: State = field(default_factory=lambda: State(now=NOON))
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state.epoch = 3
        self.settings = self.kind.settings(**self.more)
        self.crew = Crew(self.bucket, RandomIds(), lambda key: (float("inf"), Cause.OK))
        self.fake = Fake(machines=self.crew)
        self.clock = self.crew.clock = FakesClock(self.fake)
        self.window = LeaderWindow(self.clock)
        self.specs = SpecCache(self.bucket)
        self.begin = self.clock.monotonic()
        self.restart()

    def restart(self) -> None:
        """The bastion begins anew, with nothing in memory."""
        site = GoogleContext(
            google=NearGoogle(self.fake, self.clock, RandomIds(), lambda: None), settings=self.settings,
            scope=SCOPE, ids=RandomIds(), seal=sealing(), clock=self.clock, birth=self.crew.birth, at_once=at_once,
        )  # fmt: skip
        self.runner = self.kind.runner(context=site)
        self.reconciler = Reconciler(
            runner=self.runner, bucket=self.bucket, clock=self.clock, ids=RandomIds(), window=self.window,
            specs=self.specs, epoch=3, desired=lambda: desired(self.state), now=self.now, at_once=at_once, verify=lambda: True,
        )  # fmt: skip

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.clock.monotonic() - self.begin)

    def submit(self, names: Iterable[str], resources: dict[str, int], replicas: int = 1) -> None:
        """Jobs that start at once."""
        hosts, workers = (self.runner.workers(resources, number) for number in (1, replicas))
        for name in names:
            spec = new_jobspec(
                name=name, user="ada", project="p", command=["x"], resources=resources, replicas=replicas, max_tries=1
            )
            job = f"{name}-12345678"
            self.specs.keep(job, spec)
            self.crew.gangs[job] = hosts, workers
            self.folds(
                Submitted(request=name, job=job, spec=spec),
                Started(job=job, task=0, attempt=0, runner=self.runner.name, tier=0, workers=workers),
            )

    def folds(self, *events: AnyEvent) -> None:
        self.state.now = self.now()
        for index, event in enumerate(events):
            apply(self.state, event, self.state.seq, index)
        self.state.seq += 1

    def turn(self) -> None:
        """One pass of the reconciler, taken in; what the attempts come to; and those that were lost start again."""
        self.window.confirm(self.clock.monotonic())
        self.take(self.reconciler.turn())
        for event in list(settle(self.state, self.now())):
            self.folds(event)
        for job in list(self.state.pending):
            tasks = self.state.jobs[job].tasks
            attempts = tasks[0].attempts if tasks else []
            if attempts:
                workers = len(attempts[-1].workers)
                self.folds(
                    Started(job=job, task=0, attempt=len(attempts), runner=self.runner.name, tier=0, workers=workers)
                )

    def take(self, seen: Iterable[Sighting]) -> None:
        for sighting in seen:
            if isinstance(sighting, UnreadableObject):
                self.troubles.append(sighting.what)
            for event in note(self.state, sighting, self.now()):
                self.folds(event)

    def goes_on(self, turns: int, every_s: float = 30.0) -> None:
        for _ in range(turns):
            self.turn()
            self.clock.sleep(every_s)
            self.crew.work()

    def end(self, key: AttemptKey, worker: int) -> None:
        """A worker's command ends well."""
        machine = self.state.attempt(key).workers[worker].machine  # type: ignore[union-attr]
        facts = Facts(phase="ended", machine=machine, cause=Cause.OK, exit_code=0)
        self.bucket.write(layout.facts(key, worker), encode(facts))
        self.take([FactsRead(key, worker, facts)])

    def rows(self, what: str) -> dict[str, Any]:
        """What there is of a kind of Google's."""
        return self.fake.rows(what)

    def creations(self) -> list[Asked]:
        """The requests for machines."""
        return self.fake.calls(self.kind.creations[0])

    def running(self) -> list[AttemptKey]:
        return [key for key, _, one in self.state.live_attempts() if one.state is AttemptState.RUNNING]

    def machines_of(self, key: AttemptKey) -> set[str]:
        """The names of the slices or VMs that an attempt's workers are on."""
        attempt: Any = self.state.attempt(key)
        hosts = [host_of(worker.machine) for worker in attempt.workers]
        return {host.name for host in hosts if host}
