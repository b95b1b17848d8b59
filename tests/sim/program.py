"""Bastions of a simulated world: the real code behind a shaky view of the fleet and a clock that is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bastion import loop, snapshot
from bastion.chores import Doors
from bastion.errors import Deposed, RunnerError
from bastion.ports import Machine, Placement, Sight
from bastion.tick import Bastion
from quota.resources import Resources
from tests.sim.fleet import SimRunner
from tests.sim.kernel import Kernel, Life, SimClock, SimIds, SimTasks
from tests.sim.pace import PACE, POOL
from tests.sim.store import SimBucket

if TYPE_CHECKING:
    from tests.sim.world import World


class ShiftedClock(SimClock):
    """A clock whose time of day is wrong, by an amount that jumps."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.wrong_s = kernel.random.choice([0.0, kernel.random.uniform(-7200, 7200)])

    def wall(self) -> datetime:
        return super().wall() + timedelta(seconds=self.wrong_s)


class ShakyRunner:
    """The fleet as one bastion sees it: questions fail, answers get lost, new machines are listed late."""

    name = "local"
    pace_s = 5.0

    def __init__(self, world: World, epoch: Callable[[], int]) -> None:
        self._world, self._epoch = world, epoch
        self._inner = SimRunner(
            world.kernel, world.bucket_of, world.scripts, world.hosts, delay=world.creation_delay, pace=PACE
        )
        self._listed_at: dict[str, float] = {}

    def capacity(self) -> Resources | None:
        return POOL

    def workers(self, resources: Resources, replicas: int) -> int:
        return replicas

    def create(self, placement: Placement) -> None:
        self._call("create", lambda: self._inner.create(placement))

    def stop(self, machine: str) -> None:
        self._call("stop", lambda: self._inner.stop(machine))

    def delete(self, machine: str) -> None:
        def effect() -> None:
            host = self._world.hosts.get(machine)
            if host is not None and host.there:
                self._world.laws.deletes(machine, host.machine.key, host.machine.worker)
                self._inner.delete(machine)

        self._call("delete", effect)

    def list(self) -> Sequence[Machine]:
        self._shake()
        rng, now = self._world.kernel.random, self._world.kernel.now
        for machine in (listed := self._inner.list()):
            late = rng.uniform(0, 240) if self._world.stormy and rng.random() < 0.2 else 0.0
            self._listed_at.setdefault(machine.id, now + late)
        return [machine for machine in listed if now >= self._listed_at[machine.id]]

    def sweep(self) -> None:
        pass

    def look(self, machine: str) -> Sight:
        self._shake()
        return self._inner.look(machine)

    def _call(self, what: str, effect: Callable[[], None]) -> None:
        self._world.laws.calls(self._epoch(), self._world.kernel.now, what)
        self._shake()
        effect()
        self._shake()

    def _shake(self) -> None:
        kernel = self._world.kernel
        kernel.sleep(kernel.random.expovariate(10))
        if self._world.blind or (self._world.stormy and kernel.random.random() < 0.03):
            raise RunnerError("the fleet does not answer")


class Program:
    """One bastion process."""

    def __init__(self, world: World, number: int) -> None:
        self.life = Life()
        self.bastion: Bastion | None = None
        self._world, self._number = world, number
        world.kernel.spawn(self.life, self._run)

    def _run(self) -> None:
        world, kernel = self._world, self._world.kernel
        bucket = SimBucket(world.store, world.weather)
        doors = Doors(
            bucket=bucket,
            runners={"local": ShakyRunner(world, self._epoch)},
            clock=ShiftedClock(kernel),
            ids=SimIds(kernel),
            tasks=SimTasks(kernel, self.life),
            snapshot=lambda: snapshot.make(bucket),
        )
        me = loop.Self(
            name="sim",
            host=f"host{self._number % 2}",
            boot="boot",
            pid=self._number,
            alive=lambda pid: world.programs[pid].life.alive,
        )
        takeover = world.stormy and kernel.random.random() < 0.3
        try:
            if takeover or loop.stand_by(doors, me, lambda: False):
                self.bastion = loop.begin(doors, me)
                self._go_on(self.bastion)
        except Deposed:
            world.seen["deposed"] += 1
        self.life.end()

    def _go_on(self, bastion: Bastion) -> None:
        while True:
            bastion.tick()
            if not bastion.journal.dirty:
                self._world.laws.remembers(bastion.journal.state)
            bastion.doors.tasks.wait(bastion.idle_s())

    def hush(self) -> None:
        """Take its log off the process's logger, as a process that ends does."""
        if self.bastion is not None:
            logging.getLogger("bastion").removeHandler(self.bastion.own_log)

    def _epoch(self) -> int:
        return self.bastion.journal.epoch if self.bastion else 0
