"""A simulated fleet: the real worker's code on machines, processes and folders that exist in memory only."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Bucket, Machine, MachineExistence, Placement
from bastion.quota.resources import Resources
from bastion.runners.worker.interfaces import WorkerContext, WorkerIdentity, WorkerPace
from bastion.runners.worker.interfaces import WorkerMachine as WorkerMachine
from bastion.runners.worker.run import run, stand_in
from bastion.stores.machine_seal import KeyedSeal
from tests.simulation.parts.host import Script, SimHost
from tests.simulation.parts.kernel import Kernel, Life, SimClock, SimIds, SimTasks


class SimRunner:
    """A `Runner` of simulated machines. `hosts` outlives it: a new runner over the same hosts sees the same fleet.

    `scope` names the bastion. `delay` gives the seconds that a creation takes, None if it comes to nothing; until then the
    machine is not listed. `bucket_of` gives each worker its way to the bucket. `born` is told of every machine. While `blind`
    is set every question fails.
    """

    name = "sim"
    pace_s = 1.0
    offers: Collection[str] | None = None

    def __init__(
        self,
        kernel: Kernel,
        bucket_of: Callable[[Machine], Bucket],
        scripts: Mapping[str, Script],
        hosts: dict[str, SimHost],
        *,
        delay: Callable[[], float | None] = lambda: 0.0,
        born: Callable[[SimHost], None] = lambda _: None,
        pace: WorkerPace | None = None,
        scope: str = "sim",
    ) -> None:
        self.blind = False
        self.scope = scope
        self.listings = 0
        self._kernel = kernel
        self._bucket_of = bucket_of
        self._scripts = scripts
        self._hosts = hosts
        self._delay = delay
        self._born = born
        self._pace = pace or WorkerPace()
        self._ids = SimIds(kernel)
        self._seal = KeyedSeal(lambda: b"a key of a simulated bastion", self._ids)
        self._coming: set[tuple[AttemptKey, int]] = set()

    def capacity(self) -> Resources | None:
        return None

    def workers(self, resources: Resources, replicas: int) -> int:
        return replicas

    def create(self, placement: Placement) -> None:
        self._see()
        hosts = [host for host in self._hosts.values() if host.there and self.proved(host.machine).ours]
        there = {(host.machine.key, host.machine.worker) for host in hosts}
        for worker in range(placement.workers):
            place = placement.key, worker
            if place not in there | self._coming and (delay := self._delay()) is not None:
                self._coming.add(place)
                self.come(placement, worker, delay)

    def come(self, placement: Placement, worker: int, delay: float) -> None:
        """A machine comes up after so many seconds."""
        self._kernel.spawn(Life(), lambda: self._boot(placement, worker), delay)

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        named, _, creation = machine.rpartition("@")
        return named == f"{self.scope}:{key}/{worker}" and "/" not in creation

    def stop(self, machine: str) -> None:
        self._see()
        if machine in self._hosts:
            self._hosts[machine].noticed.set()

    def delete(self, machine: str) -> None:
        self._see()
        if machine in self._hosts:
            self._hosts[machine].kill()

    def list(self) -> Sequence[Machine]:
        self._see()
        self.listings += 1
        return [self.proved(host.machine) for host in self._hosts.values() if host.there]

    def sweep(self) -> None:
        pass

    def waiting(self) -> Mapping[AttemptKey, str]:
        return {}

    def look(self, machine: str) -> MachineExistence:
        if self.blind:
            return MachineExistence.UNREACHABLE
        return (
            MachineExistence.THERE if machine in self._hosts and self._hosts[machine].there else MachineExistence.GONE
        )

    def _see(self) -> None:
        if self.blind:
            raise RunnerError("the fleet does not answer")

    def _boot(self, placement: Placement, worker: int) -> None:
        self._coming.discard((placement.key, worker))
        name = self.named(placement.key, worker, placement.epoch)
        machine = Machine(id=name, key=placement.key, worker=worker, epoch=placement.epoch)
        host = self._hosts[name] = SimHost(self._kernel, self._scripts, machine)
        host.holds, host.account = placement.resources, placement.user
        self._born(host)
        self._kernel.spawn(host.worker, lambda: self.work(host))

    def named(self, key: AttemptKey, worker: int, epoch: int) -> str:
        """The id of a new machine."""
        return f"{self.scope}:{key}/{worker}@{epoch}.{self._seal.nonce(self.scope, key, worker, epoch)}"

    def proved(self, machine: Machine) -> Machine:
        """As a listing shows it: ours only by its nonce, whatever else its name says."""
        nonce = machine.id.rpartition(".")[2]
        ours = self._seal.proves(nonce, self.scope, machine.key, machine.worker, machine.epoch)
        return replace(machine, ours=ours, origin=f"simulated machine {machine.id}")

    def door(self, host: SimHost) -> WorkerMachine:
        """The machine as its worker reaches it."""
        return host

    def work(self, host: SimHost) -> None:
        """The worker of a machine, from its start to its end."""
        run(self._post(host), self._doors(host), self._pace)
        host.worker.end()

    def stand_in(self, host: SimHost, why: str) -> None:
        """End in the place of a worker that fell, as its keeper does."""
        stand_in(self._post(host), self._doors(host), self._pace, why)
        host.worker.end()

    def _post(self, host: SimHost) -> WorkerIdentity:
        machine = host.machine
        return WorkerIdentity(key=machine.key, worker=machine.worker, machine=machine.id, address="10.0.0.1")

    def _doors(self, host: SimHost) -> WorkerContext:
        return WorkerContext(
            bucket=self._bucket_of(host.machine),
            clock=SimClock(self._kernel, host.off_s),
            ids=self._ids,
            tasks=SimTasks(self._kernel, host.worker),
            machine=self.door(host),
            notice=host.notice,
            outputs="memory://outputs",
        )
