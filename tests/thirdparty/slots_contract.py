"""The runner `slots` keeps the runners' contract."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bastion_slots import SLOTS

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Runner
from bastion.model.settings.config import Config
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.runners.local.registry import Registry, RegistryEntry
from bastion.runners.runner_context import RunnerContext
from bastion.stores.local import LocalBucket
from bastion.testing.fleets import ProcessFleet, sealing
from bastion.testing.runner_contract import RunnerContract


class Machines(ProcessFleet):
    """What the suite asks of a fleet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bucket = LocalBucket(f"file://{folder}/bucket", create=True)
        self.scans, self.is_away = 0, False
        self.runner = self.again()

    def again(self) -> Runner:
        return self.made(f"test-{os.getpid()}")

    def stranger(self) -> Runner:
        return self.made(f"another-{os.getpid()}")

    def made(self, scope: str) -> Runner:
        context = RunnerContext(
            bastion="test",
            scope=scope,
            bucket=self.bucket,
            given=None,
            options={"slots": 4},
            config=Config(),
            flags={"steady_flush_s": 1, "secrets": self.folder / "secrets"},
            environ={**os.environ, "XDG_STATE_HOME": str(self.folder)},
            clock=SystemClock(),
            ids=RandomIds(),
            seal=sealing(),
            tasks=ThreadTasks(),
        )
        runner = SLOTS.make(context)
        runner.scan = self._scan
        return runner

    @contextmanager
    def away(self) -> Iterator[None]:
        self.is_away = True
        try:
            yield
        finally:
            self.is_away = False

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        return ""

    def questions(self) -> int:
        return self.scans

    def _scan(self, registry: Registry) -> list[RegistryEntry]:
        self.scans += 1
        if self.is_away:
            raise RunnerError("what runs on this machine cannot be read")
        return registry.entries()


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Machines]:
    machines = Machines(tmp_path)
    yield machines
    for machine in machines.runner.list():
        machines.runner.delete(machine.id)


class TestSlots(RunnerContract):
    """All of the suite."""
