"""Jobs through our quota on a real Slurm of four nodes, against the same by plain `sbatch`. Wants root and slurm-wlm."""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from tests.bench.rows import Row
from tests.slurm.cluster import Cluster, cluster
from tests.slurm.team import start
from tests.support.fleet import Fleet

JOBS, SECONDS, MANY, SINGLE = 40, 10, 200, 5


def rows() -> list[Row]:
    """How soon one starts; 40 jobs of 10 s that take a node each; and 200 that say a word."""
    with cluster() as slurm, TemporaryDirectory() as folder:
        plain = _plain(slurm)
        team = start(Path(folder), slurm)
        try:
            first = median(_first(team) for _ in range(SINGLE))
            job = team.submit("long", "--resources=gpu=2", f"--count={JOBS}", run=f"sleep {SECONDS}")
            ours = _ended(team, job)
            many = team.submit("many", "--resources=gpu=1", f"--count={MANY}", run="echo ran")
            brief = _ended(team, many)
            wrong = sum(team.log(f"{many}[{task}]") != "ran\n" for task in range(MANY))
        finally:
            team.close()
    return [
        Row("launch -> the command's first act, at an idle Slurm", first, "s", 3),
        Row(f"{JOBS} jobs of {SECONDS} s: a job slower than by sbatch", (ours - plain) / JOBS, "s", 1.5),
        Row("  all of them by sbatch", plain, "s"),
        Row(f"{MANY} jobs of a word", brief, "s"),
        Row("  of these lost or doubled", wrong, "", 0),
    ]


def _plain(slurm: Cluster) -> float:
    began = time.monotonic()
    for _ in range(JOBS):
        slurm.say("sbatch", "--gres=gpu:2", "--output=/dev/null", stdin=f"#!/bin/sh\nsleep {SECONDS}\n")
    slurm.until(lambda: not slurm.say("squeue", "-h", "-o", "%i").split(), "the end of all jobs")
    return time.monotonic() - began


def _first(team: Fleet) -> float:
    began = time.time()
    job = team.submit("first", "--resources=gpu=1", run="date +%s.%N")
    assert team.wait(job) == 0
    return float(team.log(job)) - began


def _ended(team: Fleet, job: str) -> float:
    began = time.monotonic()
    while team.job(job)["state"] not in ("SUCCEEDED", "FAILED"):
        time.sleep(0.5)
    return time.monotonic() - began
