"""A bastion's reconciler with the runner of TPU slices on the fake: jobs come, lose their slices, and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bastion import layout
from bastion.buckets.memory import MemoryBucket
from bastion.codec import decode, encode
from bastion.decide import settle
from bastion.desired import desired
from bastion.errors import Missing
from bastion.events import AnyEvent, Started, Submitted
from bastion.fold import apply
from bastion.observe import FactsRead, Sighting, Trouble, note
from bastion.once import create_once
from bastion.ports import AttemptKey
from bastion.reconcile import Reconciler
from bastion.records import Claim, Facts
from bastion.spec import new_jobspec
from bastion.specs import Specs
from bastion.standing import Fence
from bastion.state import AttemptState, Cause, State
from bastion.system import RandomIds
from runners.google.names import host_of
from tests.google.tpus import FakesClock, Ground, at_once
from tests.unit.bastion.doors import memory

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass
class Fleet:
    """State, bucket and reconciler of one bastion. Its workers claim as soon as their hosts are up."""

    ground: Ground
    bucket: MemoryBucket = field(default_factory=memory)
    state: State = field(default_factory=lambda: State(now=NOON))
    troubles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state.epoch = 3
        self.clock = FakesClock(self.ground.fake)
        self.fence = Fence(self.clock)
        self.specs = Specs(self.bucket)
        self.begin = self.clock.monotonic()
        self.restart()

    def restart(self) -> None:
        """The bastion begins anew, with nothing in memory."""
        self.reconciler = Reconciler(
            runner=self.ground.again(), bucket=self.bucket, clock=self.clock, ids=RandomIds(), fence=self.fence,
            specs=self.specs, epoch=3, desired=lambda: desired(self.state), now=self.now, at_once=at_once,
        )  # fmt: skip

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.clock.monotonic() - self.begin)

    def submit(self, names: Iterable[str], resources: dict[str, int], replicas: int = 1) -> None:
        """Jobs that start at once."""
        workers = self.ground.runner.workers(resources, replicas)
        for name in names:
            spec = new_jobspec(
                name=name, user="ada", project="p", command=["x"], resources=resources, replicas=replicas, max_tries=1
            )
            job = f"{name}-12345678"
            self.specs.keep(job, spec)
            self.folds(
                Submitted(request=name, job=job, spec=spec),
                Started(job=job, task=0, attempt=0, runner=self.ground.runner.name, tier=0, workers=workers),
            )

    def folds(self, *events: AnyEvent) -> None:
        self.state.now = self.now()
        for index, event in enumerate(events):
            apply(self.state, event, self.state.seq, index)
        self.state.seq += 1

    def turn(self) -> None:
        """One pass of the reconciler, taken in; what the attempts come to; and those that were lost start again."""
        self.fence.confirm(self.clock.monotonic())
        self.take(self.reconciler.turn())
        for event in list(settle(self.state, self.now())):
            self.folds(event)
        for job in list(self.state.pending):
            tasks = self.state.jobs[job].tasks
            attempts = tasks[0].attempts if tasks else []
            if attempts:
                workers = len(attempts[-1].workers)
                self.folds(
                    Started(
                        job=job, task=0, attempt=len(attempts), runner=self.ground.runner.name, tier=0, workers=workers
                    )
                )

    def take(self, seen: Iterable[Sighting]) -> None:
        for sighting in seen:
            if isinstance(sighting, Trouble):
                self.troubles.append(sighting.what)
            for event in note(self.state, sighting, self.now()):
                self.folds(event)

    def work(self) -> None:
        """Each host that is up claims as its worker, if it may."""
        for row in self.ground.fake.rows("nodes").values():
            if row["state"] != "READY":
                continue
            prefix = row["metadata"]["machine"].replace("*", row["name"].rpartition("/")[2])
            slice_of = int(row["name"].rpartition("-")[2]) if "*" in row["metadata"]["machine"] else 0
            hosts, key = len(row["networkEndpoints"]), key_of(row)
            for host in range(hosts):
                self.claim(key, slice_of * hosts + host, f"{prefix}/{host}")

    def claim(self, key: AttemptKey, worker: int, machine: str) -> None:
        if worker and not self._came_with_the_first(key, machine):
            return
        claim = Claim(machine=machine, address="10.0.0.1", port=1, nonce=machine)
        create_once(self.bucket, layout.claim(key, worker), encode(claim))

    def _came_with_the_first(self, key: AttemptKey, machine: str) -> bool:
        """As a worker does it: the first of the gang claims first, and others only beside it."""
        try:
            first = decode(self.bucket.read(layout.claim(key, 0)).data, Claim, "claim")
        except Missing:
            return False
        return not first.void and first.machine.split("/")[2] == machine.split("/")[2]

    def goes_on(self, turns: int, every_s: float = 30.0) -> None:
        for _ in range(turns):
            self.turn()
            self.clock.sleep(every_s)
            self.work()

    def end(self, key: AttemptKey, worker: int) -> None:
        """A worker's command ends well."""
        machine = self.state.attempt(key).workers[worker].machine  # type: ignore[union-attr]
        facts = Facts(phase="ended", machine=machine, cause=Cause.OK, exit_code=0)
        self.bucket.write(layout.facts(key, worker), encode(facts))
        self.take([FactsRead(key, worker, facts)])

    def running(self) -> list[AttemptKey]:
        return [key for key, _, one in self.state.live_attempts() if one.state is AttemptState.RUNNING]

    def machines_of(self, key: AttemptKey) -> set[str]:
        """The names of the slices that an attempt's workers are on."""
        attempt: Any = self.state.attempt(key)
        hosts = [host_of(worker.machine) for worker in attempt.workers]
        return {host.name for host in hosts if host}


def key_of(row: dict[str, Any]) -> AttemptKey:
    labels = row["labels"]
    return AttemptKey(labels["job"], int(labels["task"]), int(labels["attempt"]))
