"""A pass: some jobs on a fleet, under one policy. What it gives, and the rows of its waits."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from bastion.model.settings.config import Config
from bastion.quota.quota_file import parse
from bastion.simulate.simulated_run import RunSettings, everybody, simulate
from bastion.simulate.simulation_report import row
from bastion.simulate.workload import Arrival, WorkPace
from tests.bench.rows import Row, short

KIND = "gpu"
THEIRS, OURS = "axlearn", "default"

Numbers = Mapping[str, Any]
"""What `bastion simulate --json` prints of a run; `seconds` are those of the processor."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Some jobs on a fleet of so many GPUs, of which each project has a share. What is in use counts for `length`."""

    name: str
    jobs: Sequence[Arrival]
    gpus: int
    shares: Mapping[str, float]
    length: timedelta

    def run(self, policy: str) -> Numbers:
        """The numbers of a policy that decides every 30 s. A job saves its work every 10 minutes."""
        lines = ['[toml-schema]\nversion = "1"\n[total_resources]', f"{KIND} = {self.gpus}"]
        lines += [f"[project_resources.{name}]\n{KIND} = {share:.6f}" for name, share in sorted(self.shares.items())]
        scene = RunSettings(
            quota=everybody(parse("\n".join(lines) + "\n")),
            config=Config(policy=policy),
            pace=WorkPace(timedelta(minutes=10), tick=timedelta(seconds=30)),
            kind=KIND,
            until=self.length,
        )
        began = time.process_time()
        report = simulate(scene, self.jobs).report
        return {**row(report, KIND), "seconds": time.process_time() - began}


def waits(ours: Numbers, theirs: Numbers, goals_h: Mapping[str, float]) -> Iterator[Row]:
    """The waits of each size against the incumbent's. `goals_h` bounds the p95 of a size."""
    for size, found in ours["wait_h_by_size"].items():
        other = theirs["wait_h_by_size"][size]
        for what, name in ((f"wait for {size} GPUs, p95", "p95"), ("  median", "p50"), ("  longest", "max")):
            goal = goals_h.get(size, 0) if name == "p95" else 0
            yield Row(what, found[name], "h", goal, incumbent=short(other[name]))
