"""The machines of a real Ray as a fleet for tests: its own bucket, its own scope, and nothing left behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bastion.buckets.local import LocalBucket
from bastion.buckets.prefixed import Prefixed
from bastion.system import RandomIds, SystemClock
from runners.local import marks
from runners.ray.api import Answer, HttpDashboard
from runners.ray.render import parse
from runners.ray.runner import RayRunner
from runners.ray.settings import RaySettings
from tests.ray.cluster import Cluster, until


class Counting:
    """A dashboard whose requests are counted."""

    def __init__(self, address: str) -> None:
        self.door = HttpDashboard(address)
        self.asked: list[str] = []

    def ask(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> Answer:
        self.asked.append(f"{verb} {path}")
        return self.door.ask(verb, path, body)


class RayFleet:
    """A `RayRunner` on one bastion's part of a bucket below `folder`."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.bucket = Prefixed(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self.dashboard = Counting(cluster.address)
        self.scope = f"test-{folder.name}"
        self.runner = self.again()

    def again(self) -> RayRunner:
        return RayRunner(
            dashboard=self.dashboard,
            settings=RaySettings(
                address=self.cluster.address, python=self.cluster.python, folder=str(self.folder / "node")
            ),
            scope=self.scope,
            bucket_url=self.bucket.url,
            ids=RandomIds(),
            clock=SystemClock(),
            flags={"steady_flush_s": 1},
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        until(condition, what)

    def crash_worker(self, machine: str) -> None:
        for number in (signal.SIGSTOP, signal.SIGKILL):  # with its keeper, at one moment
            for pid in self.workers(machine):
                os.kill(pid, number)
        until(lambda: not self.workers(machine), "the worker's death")

    def workers(self, machine: str) -> list[int]:
        """The pids of the worker and its keeper."""
        return [process.pid for process in marks.scan() if process.machine == machine and not process.users]

    def questions(self) -> int:
        return len(self.dashboard.asked)

    def close(self) -> None:
        """Kill what the test left: its hosts end when nothing is left of their machines."""
        live = self._live()
        marks.kill([process for process in marks.scan() if process.machine in live])
        for machine in live:
            self.runner.stop(machine)  # what is not there yet ends where it begins

    def _live(self) -> set[str]:
        return {
            machine.id for machine in self.runner.list() if (name := parse(machine.id)) and name.scope == self.scope
        }
