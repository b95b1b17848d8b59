"""This machine as a fleet for tests: its own bucket, its own scope, and nothing left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey
from bastion.platform import host
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.local.registry import Registry, RegistryEntry
from bastion.runners.local.runner import LocalRunner
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.testing.fleets import ProcessFleet

_SCOPE = f"test-{os.getpid()}"


class LocalFleet(ProcessFleet):
    """A `LocalRunner` on one bastion's part of a bucket below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bucket = PrefixedBucket(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self._scans, self._away = 0, False
        self.runner = self.again()

    def again(self) -> LocalRunner:
        return self.made()

    def stranger(self) -> LocalRunner:
        return self.made(f"another-{_SCOPE}")

    def entries(self) -> list[RegistryEntry]:
        """What the registry of this fleet holds."""
        return Registry(self.folder / "machines", host.boot()).entries()

    def made(self, scope: str = _SCOPE, *, adopts: bool = False) -> LocalRunner:
        return LocalRunner(
            scope=scope,
            bucket_url=self.bucket.url,
            work_root=self.folder / "work",
            ids=RandomIds(),
            clock=SystemClock(),
            flags={"steady_flush_s": 1, "secrets": self.folder / "secrets"},
            scan=self._scan,
            adopts=adopts,
        )

    @contextmanager
    def away(self) -> Iterator[None]:
        """The system does not show its processes."""
        self._away = True
        try:
            yield
        finally:
            self._away = False

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        return ""

    def questions(self) -> int:
        return self._scans

    def close(self) -> None:
        """Kill what the test left."""
        for machine in self.runner.list():
            self.runner.delete(machine.id)
        self.until(lambda: not self.runner.list(), "the end of all machines")

    def _scan(self, registry: Registry) -> list[RegistryEntry]:
        self._scans += 1
        if self._away:
            raise RunnerError("what runs on this machine cannot be read")
        return registry.entries()
