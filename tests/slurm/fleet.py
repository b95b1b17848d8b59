"""A real Slurm as a fleet for the runners' contract."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, CommandResult
from bastion.platform.system import RandomIds, SystemClock
from bastion.runners.slurm.render import SlurmJobName, SlurmNode
from bastion.runners.slurm.runner import SlurmRunner
from bastion.runners.slurm.settings import SlurmSettings
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from bastion.testing.fleets import ProcessFleet, sealing
from tests.slurm.cluster import Cluster


class Losing:
    """A shell to a cluster. While it `loses`, the answers of `sbatch` do not come."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.loses = cluster, False

    def run(self, argv: Sequence[str], *, limit_s: float, stdin: str = "") -> CommandResult:
        said = self.cluster.run(argv, limit_s=limit_s, stdin=stdin)
        if self.loses and "sbatch" in argv:
            raise RunnerError(f"sbatch did not end in {limit_s:.0f} s")
        return said


class SlurmFleet(ProcessFleet):
    """A `SlurmRunner` on one bastion's part of a bucket below `folder`."""

    def __init__(self, folder: Path, cluster: Cluster, **options: Any) -> None:
        self.folder, self.cluster = folder, cluster
        self.settings = SlurmSettings(work=str(folder / "work"), **options)
        self.bucket = PrefixedBucket(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self.shell = Losing(cluster)
        self.runner = self.again()

    def again(self) -> SlurmRunner:
        return self._made("test-12345678")

    def stranger(self) -> SlurmRunner:
        return self._made("another-12345678")

    def _made(self, scope: str) -> SlurmRunner:
        return SlurmRunner(
            settings=self.settings,
            scope=scope,
            bucket_url=self.bucket.url,
            python=sys.executable,
            shell=self.shell,
            ids=RandomIds(),
            seal=sealing(),
            clock=SystemClock(),
            flags={"steady_flush_s": 1},
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        self.cluster.until(condition, what)

    @contextmanager
    def away(self) -> Iterator[None]:
        """The controller is stopped."""
        self.cluster.stop_controller()
        try:
            yield
        finally:
            self.cluster.start_controller()

    @contextmanager
    def answers_lost(self) -> Iterator[None]:
        """What is said of a batch job does not come."""
        self.shell.loses = True
        try:
            yield
        finally:
            self.shell.loses = False

    def spoof(self, key: AttemptKey, worker: int, epoch: int) -> str:
        """A job of the bastion's own account starts another, and calls it so."""
        name = SlurmJobName("test-12345678", key, epoch, "dead")
        asked = ["sbatch", "--parsable", f"--job-name={name}", f"--ntasks={worker + 1}", "--output=/dev/null"]
        said = self.cluster.run(asked, limit_s=60, stdin="#!/bin/sh\nexec sleep 600\n")
        assert said.code == 0, said.err
        return str(SlurmNode(int(said.out), worker, "dead"))

    def questions(self) -> int:
        return len(self.cluster.asked)

    def close(self) -> None:
        """End what the test left."""
        self.cluster.clear()
