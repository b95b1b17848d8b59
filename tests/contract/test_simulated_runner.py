"""The simulated fleet keeps the runners' contract, so that what simulations show holds for real runners."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import count

import pytest

from bastion.model.interfaces import AttemptKey, Machine
from bastion.stores.memory import MemoryBucket
from bastion.testing import stage as programs
from bastion.testing.runner_contract import RunnerContract
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import Script, SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, SimClock

_names = count()


def hello(process: SimProcess) -> int:
    process.print("hello\n")
    return 0


def fail(process: SimProcess) -> int:
    process.print("Error: no luck\n")
    return 3


def wait(process: SimProcess) -> int:
    process.print("started\n")
    process.sleep(600)
    return 0


def traps(code: int, word: str = "") -> Script:
    def script(process: SimProcess) -> int:
        process.traps = True
        process.print("started\n")
        process.sleep(600)
        process.print(word)
        return code

    return script


def stubborn(process: SimProcess) -> int:
    process.traps = True
    process.print("started\n")
    while True:
        process.sleep(600)
        process.forget_signal()


def counts(process: SimProcess) -> int:
    for n in range(3000):
        process.print(f"line {n}\n")
        process.sleep(0.01)
    return 0


def environment(process: SimProcess) -> int:
    process.print("".join(f"{name}={value}\n" for name, value in process.env.items()))
    return 0


def reports(process: SimProcess) -> int:
    process.say_progress('{"step": 7, "checkpoint": true}\n')
    return wait(process)


SCRIPTS: dict[str, Script] = {
    programs.HELLO: hello,
    programs.FAIL: fail,
    programs.CRASH: lambda _: 139,
    programs.WAIT: wait,
    programs.SAVES: traps(9, "saved\n"),
    programs.SAVES_AND_IS_DONE: traps(0),
    programs.STUBBORN: stubborn,
    programs.COUNTS: counts,
    programs.ENVIRONMENT: environment,
    programs.REPORTS: reports,
}


class SimFleet:
    def __init__(self, seed: int) -> None:
        self.kernel = Kernel(seed)
        self.bucket = MemoryBucket(f"memory://fleet-{next(_names)}", SimClock(self.kernel).wall)
        self.hosts: dict[str, SimHost] = {}
        self._runners: list[SimRunner] = []
        self.runner = self.again()

    def again(self) -> SimRunner:
        return self._made(self.hosts)

    def stranger(self) -> SimRunner:
        return self._made({}, "another")

    def _made(self, hosts: dict[str, SimHost], scope: str = "sim") -> SimRunner:
        runner = SimRunner(
            self.kernel,
            lambda _: self.bucket,
            SCRIPTS,
            hosts,
            delay=lambda: self.kernel.random.choice([0.0, 0.0, 200.0]),
            scope=scope,
        )
        self._runners.append(runner)
        return runner

    def until(self, condition: Callable[[], bool], what: str) -> None:
        assert self.kernel.run(condition, 900.0), f"no sign of {what}"

    def crash_worker(self, machine: str) -> None:
        self.hosts[machine].worker.end()

    def take_away(self, machine: str) -> None:
        self.runner.stop(machine)

    def is_idle(self, machine: str) -> bool:
        return False

    @contextmanager
    def away(self) -> Iterator[None]:
        self.runner.blind = True
        try:
            yield
        finally:
            self.runner.blind = False

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        name = f"sim:{key}/{worker}@{epoch}.dead"
        self.hosts[name] = SimHost(self.kernel, SCRIPTS, Machine(id=name, key=key, worker=worker, epoch=epoch))
        return name

    def answers_lost(self) -> AbstractContextManager[None]:
        return nullcontext()

    def questions(self) -> int:
        return sum(runner.listings for runner in self._runners)


@pytest.fixture(params=range(3))
def fleet(request: pytest.FixtureRequest) -> SimFleet:
    return SimFleet(request.param)


class TestSimulatedRunner(RunnerContract):
    pass
