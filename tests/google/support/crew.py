"""Simulated workers on the fake's machines: each claims as the real one does, runs, heeds its stop order, tells its end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import ObjectNotFound
from bastion.model.interfaces import AttemptKey, Bucket, Clock, Ids
from bastion.model.state.state import Cause
from bastion.model.stored.records import BEAT_S, AnyClaim, Facts, StopOrder
from bastion.runners.google.machines.names import host_of
from bastion.runners.worker.claim import claim_of
from bastion.runners.worker.interfaces import WorkerContext, WorkerIdentity, WorkerPace
from tests.google.fake.cloud import Guest


@dataclass
class Worker:
    """One host's worker."""

    guest: str
    post: WorkerIdentity
    gang: int
    phase: str = "booting"
    begins_at: float = 0.0
    ends_at: float = float("inf")
    beat_at: float = 0.0

    @property
    def creation(self) -> str:
        return self.post.creation


@dataclass
class Crew:
    """The machines of a fake, without a room: who is up, and what they do whenever `work` is called.

    `lasts` says how many seconds the command of an attempt runs, and how it ends; `boots`, how many a host takes to boot.
    `gangs` are the hosts of a replica and of all replicas, by job.
    """

    bucket: Bucket
    ids: Ids
    lasts: Callable[[AttemptKey], tuple[float, Cause]]
    boots: Callable[[], float] = lambda: 0.0
    clock: Clock | None = None
    gangs: dict[str, tuple[int, int]] = field(default_factory=dict)
    workers: dict[tuple[str, int], Worker] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    ran: int = 0

    def birth(self, key: AttemptKey, machine: str) -> dict[str, str]:
        """What a machine is told at its creation."""
        hosts, gang = self.gangs[key.job]
        return {
            "machine": machine, "job": key.job, "task": str(key.task), "attempt": str(key.attempt),
            "hosts": str(hosts), "gang": str(gang),
        }  # fmt: skip

    # What the fake asks of machines

    def start(self, guest: Guest) -> None:
        post, gang = post_of(guest.resource, guest.number, guest.attributes)
        assert self.clock
        begins_at = self.clock.monotonic() + self.boots()
        self.workers[guest.resource, guest.number] = Worker(guest.resource, post, gang, begins_at=begins_at)

    def shut_down(self, resource: str) -> None:
        """They heed no power button."""

    def runs(self, resource: str) -> bool:
        """Nobody waits for them."""
        return False

    def stop(self, resource: str, *, erase: bool) -> None:
        self.workers = {at: one for at, one in self.workers.items() if at[0] != resource}

    def notice(self, resource: str, key: str, value: str) -> None: ...

    def attributes(self, resource: str, attributes: Mapping[str, str]) -> None: ...

    def output(self, resource: str) -> str:
        return ""

    # What they do

    def work(self) -> None:
        """Each goes one step on."""
        for worker in list(self.workers.values()):
            getattr(self, f"_{worker.phase}")(worker)
        self._check()

    def _booting(self, worker: Worker) -> None:
        assert self.clock
        if self.clock.monotonic() < worker.begins_at:
            return
        if worker.post.worker and self._claim(worker.post.key, 0) is None:
            return  # the real one waits here for the first of its gang
        machine: Any = SimpleNamespace(free_port=lambda: 1)
        doors = cast(
            WorkerContext, SimpleNamespace(bucket=self.bucket, clock=self.clock, ids=self.ids, machine=machine)
        )
        worker.phase = "claimed" if claim_of(worker.post, doors, WorkerPace()) else "idle"
        if worker.phase == "idle" and not self._has(layout.facts(worker.post.key, worker.post.worker)):
            claim = self._claim(worker.post.key, worker.post.worker)
            if claim and claim.machine == worker.post.machine:  # the machine was started once more
                self._tell(worker, Cause.LOST)

    def _claimed(self, worker: Worker) -> None:
        key = worker.post.key
        if self._stopped(worker):
            return
        if self._has(layout.order(key)) and (worker.gang == 1 or self._has(layout.peers(key))):
            assert self.clock
            worker.phase = "running"
            worker.ends_at = self.clock.monotonic() + self.lasts(key)[0]
            self.ran += 1
        self._beat(worker)

    def _running(self, worker: Worker) -> None:
        assert self.clock
        if self._stopped(worker):
            return
        if self.clock.monotonic() >= worker.ends_at:
            self._tell(worker, self.lasts(worker.post.key)[1])
        self._beat(worker)

    def _idle(self, worker: Worker) -> None:
        """It has nothing to do here, or nothing any more."""

    def _stopped(self, worker: Worker) -> bool:
        stop = layout.stop(worker.post.key)
        if self._has(stop):
            self._tell(worker, decode(self.bucket.read(stop).data, StopOrder, stop).cause)
            return True
        return False

    def _tell(self, worker: Worker, cause: Cause) -> None:
        worker.phase = "idle"
        code = {Cause.OK: 0, Cause.CODE: 1}.get(cause)
        facts = Facts(phase="ended", machine=worker.post.machine, cause=cause, exit_code=code)
        self.bucket.write(layout.facts(worker.post.key, worker.post.worker), encode(facts))

    def _beat(self, worker: Worker) -> None:
        assert self.clock
        if self.clock.monotonic() - worker.beat_at >= BEAT_S:
            worker.beat_at = self.clock.monotonic()
            self.bucket.write(layout.beat(worker.post.key, worker.post.worker), self.ids.new().encode())

    def _claim(self, key: AttemptKey, worker: int) -> AnyClaim | None:
        at = layout.claim(key, worker)
        try:
            return decode(self.bucket.read(at).data, AnyClaim, at)
        except ObjectNotFound:
            return None

    def _has(self, key: str) -> bool:
        try:
            self.bucket.read(key)
        except ObjectNotFound:
            return False
        return True

    def _check(self) -> None:
        """The law: what runs of a job at one moment is of one attempt, and of one creation of slices."""
        runs: dict[tuple[str, int], set[tuple[int, str]]] = {}
        for worker in self.workers.values():
            if worker.phase == "running":
                key = worker.post.key
                runs.setdefault((key.job, key.task), set()).add((key.attempt, worker.creation))
        self.wrong += [f"{job}[{task}] runs as {sorted(of)}" for (job, task), of in runs.items() if len(of) > 1]


def post_of(resource: str, number: int, told: Mapping[str, str]) -> tuple[WorkerIdentity, int]:
    """Which worker a host is, by its metadata; and how many there are."""
    node = resource.rpartition("/")[2]
    slice_of = int(node.rpartition("-")[2]) if "*" in told["machine"] else 0
    machine = f"{told['machine'].replace('*', node)}/{number}"
    host = host_of(machine)
    assert host
    key = AttemptKey(told["job"], int(told["task"]), int(told["attempt"]))
    worker = slice_of * int(told["hosts"]) + number
    post = WorkerIdentity(key=key, worker=worker, machine=machine, address="10.0.0.1", creation=host.nonce)
    return post, int(told["gang"])
