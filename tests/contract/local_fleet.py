"""This machine as a fleet for tests: its own bucket, its own scope, and nothing left behind."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from bastion.buckets.local import LocalBucket
from bastion.buckets.prefixed import Prefixed
from bastion.system import RandomIds, SystemClock
from runners.local import marks
from runners.local.runner import LocalRunner

_DEADLINE_S = 180.0


class LocalFleet:
    """A `LocalRunner` on one bastion's part of a bucket below `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bucket = Prefixed(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self._scans = 0
        self.runner = self.again()

    def again(self) -> LocalRunner:
        return LocalRunner(
            scope=f"test-{os.getpid()}",
            bucket_url=self.bucket.url,
            work_root=self.folder / "work",
            ids=RandomIds(),
            clock=SystemClock(),
            flags={"steady_flush_s": 1, "secrets": self.folder / "secrets"},
            scan=self._scan,
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + _DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, f"no sign of {what}"
            time.sleep(0.02)

    def crash_worker(self, machine: str) -> None:
        for number in (signal.SIGSTOP, signal.SIGKILL):  # with its keeper, at one moment
            for pid in self.workers(machine):
                os.kill(pid, number)
        self.until(lambda: not self.workers(machine), "the worker's death")

    def workers(self, machine: str) -> list[int]:
        """The pids of the worker and its keeper."""
        return [process.pid for process in marks.scan() if process.machine == machine and not process.users]

    def questions(self) -> int:
        return self._scans

    def close(self) -> None:
        """Kill what the test left."""
        for machine in self.runner.list():
            self.runner.delete(machine.id)
        self.until(lambda: not self.runner.list(), "the end of all machines")

    def _scan(self) -> list[marks.Marked]:
        self._scans += 1
        return marks.scan()
