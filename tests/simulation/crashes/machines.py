"""Machines of a scenario, and what users' programs do on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from bastion.model.interfaces import AttemptKey, Bucket, Machine, MachineExistence, Placement
from bastion.quota.resources import Resources
from bastion.runners.worker.interfaces import WorkerMachine as MachineDoor
from tests.simulation.crashes.outcome import WorkerKey
from tests.simulation.crashes.stage import Stage
from tests.simulation.crashes.taps import Actor, Fate, TappedMachine
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import Script, SimHost, SimProcess
from tests.simulation.parts.kernel import Life
from tests.simulation.parts.pace import CAPACITY, PACE

T = TypeVar("T")

AGAIN_S = 2.0
"""How long it takes until a process that was killed is started again."""


class AtNotice(Enum):
    """What a program does at SIGTERM."""

    DIE = "it dies of it"
    TIDY = "it takes a while, and ends"
    IGNORE = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What a user's program does: `lines` lines over so many seconds, then it exits by itself.

    In attempts after the first it takes `again_s`. It exits with `codes` in turn, one at each such end of the same worker of
    the same task, the last one again and again. Workers other than `of` take three times as long, and exit with 0.
    """

    seconds: float = 8.0
    again_s: float | None = None
    lines: int = 4
    codes: tuple[int, ...] = (0,)
    of: int | None = None
    at_notice: AtNotice = AtNotice.DIE
    tidy_s: float = 3.0

    def lasts(self, key: AttemptKey, worker: int) -> float:
        """Seconds between its start and its end by itself."""
        seconds = self.again_s if key.attempt and self.again_s else self.seconds
        return seconds if self.of in (None, worker) else 3 * seconds


class Programs:
    """What users' commands do. Told to the laws as it happens."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._ends: Counter[tuple[str, int, int]] = Counter()

    def script(self, command: str, act: Act) -> Script:
        """A command's."""

        def script(process: SimProcess) -> int:
            env = process.env
            key = AttemptKey(env["BASTION_JOB"], int(env["BASTION_TASK"]), int(env["BASTION_ATTEMPT"]))
            named = key, int(env["BASTION_WORKER_INDEX"])
            self._stage.laws.control.process(key, command)
            self._began(named, process)
            process.traps = act.at_notice is not AtNotice.DIE
            return self._play(named, process, act)

        return script

    def _play(self, named: WorkerKey, process: SimProcess, act: Act) -> int:
        for number in range(act.lines):
            self._print(named, process, f"line {number}\n")
            if process.sleep(act.lasts(*named) / act.lines):
                process.forget_signal()
                if act.at_notice is AtNotice.TIDY:
                    process.sleep(act.tidy_s)
                    self._print(named, process, "tidied\n")
                    self._stage.laws.exited(*named, 143, killed=True)
                    return 143
        code = self._code(named, act)
        self._print(named, process, f"exit {code}\n")
        self._stage.laws.exited(*named, code, killed=False)
        return code

    def _code(self, named: WorkerKey, act: Act) -> int:
        (key, worker), codes = named, act.codes
        if act.of not in (None, worker):
            return 0
        place = key.job, key.task, worker
        self._ends[place] += 1
        return codes[min(self._ends[place], len(codes)) - 1]

    def _print(self, named: WorkerKey, process: SimProcess, text: str) -> None:
        self._stage.printed[named] += text
        process.print(text)

    def _began(self, named: WorkerKey, process: SimProcess) -> None:
        stage = self._stage
        live = {
            (host.machine.key, host.machine.worker): host
            for host in stage.hosts.values()
            if host.process is not None and host.process is not process and host.process.life.alive
        }
        stage.laws.starts(*named, live)
        stage.laws.uses({named: process.holds} | {place: host.holds for place, host in live.items()})


class Fleet(SimRunner):
    """The machines as one bastion process reaches them. When a worker is killed, its keeper ends in its place.

    The actor of a machine is its worker, and then the keeper, with whom the machine falls in any case.
    """

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage.kernel, self._way, stage.scripts, stage.hosts, delay=self._ordered, pace=PACE)
        self._stage = stage
        self._actors: dict[str, Actor] = {}
        self._kept: set[str] = set()

    def door(self, host: SimHost) -> MachineDoor:
        tapped: MachineDoor = TappedMachine(host, self._actor(host.machine), self._stage.tape)
        return tapped

    def _ordered(self) -> float:
        self._stage.coming += 1
        return self._stage.creation_s()

    def _boot(self, placement: Placement, worker: int) -> None:
        self._stage.coming -= 1
        super()._boot(placement, worker)

    def _way(self, machine: Machine) -> Bucket:
        return self._stage.bucket(self._actor(machine))

    def _actor(self, machine: Machine) -> Actor:
        def fall(fate: Fate) -> None:
            self._fall(self._stage.hosts[machine.id], fate)

        name = f"worker {machine.key}/{machine.worker}"
        return self._actors.setdefault(machine.id, Actor(name, (Fate.LOST, Fate.KILLED), fall))

    def _fall(self, host: SimHost, fate: Fate) -> None:
        if fate is Fate.LOST or host.machine.id in self._kept:
            self._stage.hurt.add((host.machine.key, host.machine.worker))
            host.kill()
            return
        self._kept.add(host.machine.id)
        host.worker.end()
        host.worker = Life()
        self._stage.kernel.spawn(host.worker, lambda: self.stand_in(host, "the worker fell"))


class TappedRunner:
    """The `Runner` of one bastion process."""

    name = "local"
    pace_s = 5.0
    offers: Collection[str] | None = None

    def __init__(self, stage: Stage, actor: Actor, epoch: Callable[[], int]) -> None:
        self._stage, self._actor, self._epoch = stage, actor, epoch
        self._fleet = Fleet(stage)

    def capacity(self) -> Resources | None:
        return CAPACITY

    def workers(self, resources: Resources, replicas: int) -> int:
        return replicas

    def create(self, placement: Placement) -> None:
        self._change("create", str(placement.key), lambda: self._fleet.create(placement))

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        return self._fleet.is_of(machine, key, worker)

    def stop(self, machine: str) -> None:
        self._change("stop", machine, lambda: self._fleet.stop(machine))

    def delete(self, machine: str) -> None:
        def effect() -> None:
            host = self._stage.hosts.get(machine)
            if host is not None and host.there:
                self._stage.laws.deletes(machine, host.machine.key, host.machine.worker)
                self._fleet.delete(machine)

        self._change("delete", machine, effect)

    def list(self) -> Sequence[Machine]:
        return self._ask("list", "machines", self._fleet.list)

    def waiting(self) -> Mapping[AttemptKey, str]:
        return {}

    def look(self, machine: str) -> MachineExistence:
        return self._ask("look", machine, lambda: self._fleet.look(machine))

    def sweep(self) -> None:
        self._ask("sweep", "folders", lambda: None)

    def _change(self, verb: str, what: str, effect: Callable[[], None]) -> None:
        self._stage.laws.calls(self._epoch(), self._stage.kernel.now, verb)
        self._ask(verb, what, effect)

    def _ask(self, verb: str, what: str, effect: Callable[[], T]) -> T:
        def after_a_while() -> T:
            self._stage.kernel.sleep(self._stage.kernel.random.expovariate(10))
            return effect()

        return self._stage.tape.play(self._actor, verb, what, after_a_while)
