"""The runner `slots` keeps the runners' contract."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bastion_slots import SLOTS

from bastion.buckets.local import LocalBucket
from bastion.config import Config
from bastion.ground import Ground
from bastion.ports import Runner
from bastion.system import RandomIds, SystemClock, ThreadTasks
from bastion_testing.runner_contract import RunnerContract
from runners.local import marks


class Machines:
    """What the suite asks of a fleet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bucket = LocalBucket(f"file://{folder}/bucket", create=True)
        self.scans = 0
        self.runner = self.again()

    def again(self) -> Runner:
        ground = Ground(
            bastion="test",
            scope=f"test-{os.getpid()}",
            bucket=self.bucket,
            given=None,
            options={"slots": 4},
            config=Config(),
            flags={"steady_flush_s": 1, "secrets": self.folder / "secrets"},
            environ={**os.environ, "XDG_STATE_HOME": str(self.folder)},
            clock=SystemClock(),
            ids=RandomIds(),
            tasks=ThreadTasks(),
        )
        runner = SLOTS.make(ground)
        runner.scan = self._scan
        return runner

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + 180
        while not condition():
            assert time.monotonic() < deadline, f"no sign of {what}"
            time.sleep(0.02)

    def crash_worker(self, machine: str) -> None:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for process in marks.scan():
                if process.machine == machine and not process.users:
                    os.kill(process.pid, number)

    def questions(self) -> int:
        return self.scans

    def _scan(self) -> list[marks.Marked]:
        self.scans += 1
        return marks.scan()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path)
    yield machines
    for machine in machines.runner.list():
        machines.runner.delete(machine.id)


class TestSlots(RunnerContract):
    """All of the suite."""
