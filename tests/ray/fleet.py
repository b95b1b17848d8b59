"""The machines of a real Ray as a fleet for tests: its own bucket, its own scope, and nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.local import process_marks
from bastion.runners.ray.api import DashboardAnswer, HttpDashboard
from bastion.runners.ray.render import RayJobName, parse, session_mark
from bastion.runners.ray.runner import RayRunner
from bastion.runners.ray.settings import RaySettings
from bastion.runners.worker.linux.ports import free_port
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.testing.fleets import ProcessFleet, sealing
from tests.ray.cluster import Cluster


class Counting:
    """A dashboard whose requests are counted. While it `loses`, the answers to what changes something do not come."""

    def __init__(self, door: HttpDashboard) -> None:
        self.door = door
        self.asked: list[str] = []
        self.loses = False

    def ask(self, verb: str, path: str, body: Mapping[str, Any] | None = None) -> DashboardAnswer:
        self.asked.append(f"{verb} {path}")
        answer = self.door.ask(verb, path, body)
        if self.loses and verb == "POST":
            raise RunnerError("the answer was lost")
        return answer


class Ahead(SystemClock):
    """The clock of this machine, and as many seconds as a test wants to be over."""

    seconds = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.seconds


class RayFleet(ProcessFleet):
    """A `RayRunner` on one bastion's part of a bucket below `folder`."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster, self.folder = cluster, folder
        self.bucket = PrefixedBucket(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self.dashboard = Counting(cluster.door)
        self.scope = f"test-{folder.name}"
        self.clock = Ahead()
        self.spoofs: list[str] = []
        self.runner = self.again()

    def again(self) -> RayRunner:
        return self._made(self.scope)

    def stranger(self) -> RayRunner:
        return self._made(f"another-{self.folder.name}")

    def _made(self, scope: str) -> RayRunner:
        return RayRunner(
            dashboard=self.dashboard,
            settings=RaySettings(
                address=self.cluster.address, python=self.cluster.python, folder=str(self.folder / "node")
            ),
            scope=scope,
            bucket_url=self.bucket.url,
            ids=RandomIds(),
            seal=sealing(),
            clock=self.clock,
            flags={"steady_flush_s": 1},
        )

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody listens at the dashboard's address."""
        door, self.dashboard.door = self.dashboard.door, HttpDashboard(f"http://127.0.0.1:{free_port()}")
        try:
            yield
        finally:
            self.dashboard.door = door

    @contextmanager
    def answers_lost(self) -> Iterator[None]:
        """What is said of a job that was submitted does not come."""
        self.dashboard.loses = True
        try:
            yield
        finally:
            self.dashboard.loses = False

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        """Somebody who reaches the dashboard submits a job under such an id."""
        name = str(RayJobName(self.scope, key, worker, epoch, session_mark("theirs"), "0" * 32))
        body = {"submission_id": name, "entrypoint": "exec sleep 600"}
        assert self.cluster.door.ask("POST", "/api/jobs/", body).status == 200
        self.spoofs.append(name)
        return name

    def questions(self) -> int:
        return len(self.dashboard.asked)

    def close(self) -> None:
        """Kill what the test left: its hosts end when nothing is left of their machines."""
        for name in self.spoofs:
            self.cluster.door.ask("POST", f"/api/jobs/{name}/stop")
        live = self._live() - set(self.spoofs)
        process_marks.kill([process for process in process_marks.scan() if process.machine in live])
        for machine in live:
            self.runner.stop(machine)  # what is not there yet ends where it begins

    def _live(self) -> set[str]:
        return {
            machine.id for machine in self.runner.list() if (name := parse(machine.id)) and name.scope == self.scope
        }
