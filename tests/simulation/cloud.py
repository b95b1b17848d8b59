"""The fleet as one bastion sees it: questions fail, answers get lost, machines come late, twice, in part or not at all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from random import Random

from bastion.model import layout
from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Bucket, Machine, MachineExistence, Placement
from bastion.quota.resources import Resources
from tests.simulation.laws.side import on_its_side
from tests.simulation.line import WeatherLine, bucket_of
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimHost
from tests.simulation.parts.kernel import Life
from tests.simulation.parts.pace import PACE
from tests.simulation.scene import Scene

DEAF_S = 300.0
"""So long a machine may heed no delete."""

CALL_MAX_S = 8.0
"""A call takes so long at most where nothing is wrong."""

Shown = list[Machine]
"""What a listing shows."""


class Cloud:
    """All machines of a scene: what befalls each of them at its birth."""

    def __init__(self, scene: Scene) -> None:
        self.lines: dict[str, WeatherLine] = {}
        self._scene = scene
        self._fates: dict[AttemptKey, str] = {}

    def runner(self, name: str, delay: Callable[[], float | None] = lambda: 0.0) -> SimRunner:
        """A runner over the machines of the scene; those that it makes are its own."""
        scene = self._scene

        def born(host: SimHost) -> None:
            scene.owners[host.machine.id] = name
            self._born(host)

        return SimRunner(scene.kernel, self._bucket, scene.scripts, scene.hosts, delay=delay, born=born, pace=PACE)

    def doom(self, key: AttemptKey, fate: str) -> None:
        """What befalls the next machine of this attempt at its birth."""
        self._fates[key] = fate

    def stranger(self, key: AttemptKey, dice: Random) -> str:
        """A second machine for a worker of this attempt, at its runner, which is nobody's and does nothing: its id."""
        scene = self._scene
        attempt = scene.laws.truth.attempt(key)
        assert attempt is not None
        name = self.runner(attempt.runner).named(key, 0, scene.laws.truth.epoch)
        machine = Machine(id=name, key=key, worker=0, epoch=scene.laws.truth.epoch)
        scene.owners[name] = attempt.runner
        scene.hosts[name] = host = SimHost(scene.kernel, scene.scripts, machine)
        host.account = scene.laws.truth.jobs[key.job].user
        if "deaf" in scene.plan.rates:
            host.deaf_until = scene.lasts(dice.uniform(0, DEAF_S))
        return name

    def spoof(self, machine: Machine) -> None:
        """Something of somebody's that a listing shows under a name of ours, for as long as the world lasts."""
        self._scene.spoofs[machine.id] = machine

    def kill(self, host: SimHost) -> None:
        """The worker of a machine falls; if its keeper lives, that ends in its place."""
        host.worker.end()
        self._fell(host)

    def reboot(self, host: SimHost) -> None:
        """A machine that was down comes up again, under its old name."""
        host.reboots += 1
        host.worker, host.kept = Life(), True
        self._scene.kernel.spawn(host.worker, lambda: self.runner(self._owner(host)).work(host))

    def _owner(self, host: SimHost) -> str:
        return self._scene.owners[host.machine.id]

    def _bucket(self, machine: Machine) -> Bucket:
        host, scene = self._scene.hosts[machine.id], self._scene
        host.lives += 1
        again = f" again {host.lives - 1}" if host.lives > 1 else ""
        bucket, line = bucket_of(scene, f"worker {machine.id}{again}", host.worker)
        line.fell = lambda: self._fell(host, alone=line.dice.random() < 0.5)
        self.lines[machine.id] = line
        return bucket

    def _fell(self, host: SimHost, *, alone: bool = True) -> None:
        """`alone`: the keeper did not fall with it. It has no keeper of its own."""
        kept, host.kept = host.kept, False
        self._scene.laws.harmed.add(host.machine.id)
        if alone and kept:
            host.worker = Life()
            self._scene.trace.seen["keeper"] += 1
            self._scene.kernel.spawn(
                host.worker, lambda: self.runner(self._owner(host)).stand_in(host, "the worker fell")
            )

    def _born(self, host: SimHost) -> None:
        scene, machine = self._scene, host.machine
        scene.changed = True
        if any(act.kind == "clock" for act in scene.plan.acts):
            host.off_s = scene.dice(f"clock {machine.id}").choice([0.0, 0.0, -259_200.0, 259_200.0])
        fate, dice = self._fates.pop(machine.key, ""), scene.dice(f"born {machine.id}")
        if fate:
            scene.laws.harmed.add(machine.id)
        match fate:
            case "stillborn":
                scene.kernel.spawn(Life(), host.kill, dice.uniform(0, 10))
            case "full":
                host.full = True
            case "deaf":
                host.deaf_until = scene.lasts(dice.uniform(0, DEAF_S))


class ShakyRunner:
    """What one bastion has of the cloud: the machines of one runner."""

    pace_s = 5.0
    offers: Collection[str] | None = None

    def __init__(self, name: str, scene: Scene, cloud: Cloud, line: WeatherLine, epoch: Callable[[], int]) -> None:
        self.name = name
        self._scene, self._cloud, self._line, self._epoch = scene, cloud, line, epoch
        self._inner = cloud.runner(name, self._delay)
        self._fault = ""
        self._listed_at: dict[str, float] = {}
        self._shown_until: dict[str, float] = {}

    def capacity(self) -> Resources | None:
        return self._scene.fleet[self.name]

    def workers(self, resources: Resources, replicas: int) -> int:
        return replicas

    def create(self, placement: Placement) -> None:
        ordered = layout.order(placement.key) in self._scene.store.objects
        self._scene.laws.creates(placement, self._epoch(), ordered=ordered)
        if not self._scene.laws.rollback.lost:
            on_its_side(self._scene.laws.truth.attempt(placement.key), self.name, self._scene.fleet)

        def effect() -> None:
            self._fault = self._luck("create", f"create {placement.key}")
            if self._fault == "no quota":
                raise RunnerError("the cloud gives no more: quota exceeded")
            if self._fault in ("stillborn", "full", "deaf"):
                self._cloud.doom(placement.key, self._fault)
            if self._fault == "twin":
                self._inner.come(placement, 0, self._line.dice.uniform(0, 60))
            self._inner.create(placement)

        self._call(f"create {placement.key}", effect)

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        return self._inner.is_of(machine, key, worker)

    def stop(self, machine: str) -> None:
        self._call(f"stop {machine}", lambda: self._inner.stop(machine))

    def delete(self, machine: str) -> None:
        def effect() -> None:
            self._scene.laws.trust.deletes(machine, self._scene.spoofs)
            host = self._scene.hosts.get(machine)
            if host is not None and host.there:
                self._scene.laws.deletes(machine, host.machine.key, host.machine.worker)
                if self._scene.kernel.now < host.deaf_until:
                    self._scene.trace.seen["unheeded"] += 1
                else:
                    self._inner.delete(machine)
                    self._scene.changed = True

        self._call(f"delete {machine}", effect)

    def list(self) -> Sequence[Machine]:
        shown: Shown = []
        self._call("list", lambda: self._show(shown))
        return shown

    def sweep(self) -> None:
        pass

    def waiting(self) -> Mapping[AttemptKey, str]:
        return {}

    def look(self, machine: str) -> MachineExistence:
        seen: list[MachineExistence] = []
        with suppress(RunnerError):
            self._call(f"look {machine}", lambda: seen.append(self._inner.look(machine)))
            return seen[0]
        return MachineExistence.UNREACHABLE

    def _show(self, shown: Shown) -> None:
        """New machines may be hidden for a while, others drop out for a minute, and such as are gone are shown for as long."""
        now, dice = self._scene.kernel.now, self._line.dice
        listed = {machine.id: machine for machine in self._inner.list() if self._owns(machine)}
        fault = self._luck("listed", "list")
        for name in listed if fault == "ghost" else ():
            self._shown_until[name] = self._scene.lasts(dice.uniform(0, 60))
        for name in listed if fault == "dropped" else ():
            if dice.random() < 0.5:
                self._listed_at[name] = self._scene.lasts(dice.uniform(0, 60))
        for name in listed:
            if name not in self._listed_at:
                self._listed_at[name] = self._scene.lasts(dice.uniform(0, 240)) if fault == "hidden" else now
        ghosts = [
            self._scene.hosts[name].machine
            for name, until in self._shown_until.items()
            if name not in listed and now < until
        ]
        shown += [machine for machine in listed.values() if now >= self._listed_at[machine.id]]
        shown += [self._inner.proved(machine) for machine in [*ghosts, *self._scene.spoofs.values()]]

    def _owns(self, machine: Machine) -> bool:
        return self._scene.owners[machine.id] == self.name

    def _delay(self) -> float | None:
        dice = self._line.dice
        if self._fault == "never" or (self._fault == "partial" and dice.random() < 0.5):
            return None
        if self._fault == "tardy":
            return self._scene.lasts(dice.uniform(0, 720)) - self._scene.kernel.now
        return dice.uniform(0, 5)

    def _call(self, what: str, effect: Callable[[], None]) -> None:
        scene, line = self._scene, self._line
        if not what.startswith(("list", "look")):
            scene.laws.calls(self._epoch(), scene.kernel.now, what)
        if scene.kernel.now < scene.blind_until[self.name]:
            scene.kernel.sleep(line.dice.uniform(1, 20))
            raise RunnerError("the fleet does not answer")
        fault = self._luck("fleet", what)
        seconds = min(CALL_MAX_S, line.dice.expovariate(scene.listings if what == "list" else 10))
        scene.kernel.sleep(line.lists(seconds) if what == "list" else seconds)
        if fault == "blind call":
            raise RunnerError("the fleet does not answer")
        effect()
        scene.trace.answered(f"{line.name} {what}", "done")
        if fault == "unanswered":
            scene.kernel.sleep(line.dice.uniform(0, 20))
            raise RunnerError("the fleet's answer was lost")

    def _luck(self, call: str, what: str) -> str:
        return self._line.luck(call, f"{self._line.name} {what}")
