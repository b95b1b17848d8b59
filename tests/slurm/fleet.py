"""A real Slurm as a fleet for the runners' contract."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bastion.buckets.local import LocalBucket
from bastion.buckets.prefixed import Prefixed
from bastion.system import RandomIds, SystemClock
from bastion_testing.fleets import ProcessFleet
from runners.slurm.runner import SlurmRunner
from runners.slurm.settings import SlurmSettings
from tests.slurm.cluster import Cluster


class SlurmFleet(ProcessFleet):
    """A `SlurmRunner` on one bastion's part of a bucket below `folder`."""

    def __init__(self, folder: Path, cluster: Cluster, **options: Any) -> None:
        self.folder, self.cluster = folder, cluster
        self.settings = SlurmSettings(work=str(folder / "work"), **options)
        self.bucket = Prefixed(LocalBucket(f"file://{folder}/bucket", create=True), "bastion-1")
        self.runner = self.again()

    def again(self) -> SlurmRunner:
        return SlurmRunner(
            settings=self.settings,
            scope="test-12345678",
            bucket_url=self.bucket.url,
            python=sys.executable,
            shell=self.cluster,
            ids=RandomIds(),
            clock=SystemClock(),
            flags={"steady_flush_s": 1},
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        self.cluster.until(condition, what)

    def questions(self) -> int:
        return sum("squeue" in argv for argv in self.cluster.asked)

    def close(self) -> None:
        """End what the test left."""
        self.cluster.clear()
