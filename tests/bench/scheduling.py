"""The policies on four weeks of jobs: `python -m tests.bench.scheduling [TRACE]`. Without a trace, on one that is made.

A trace of eight weeks or more has the form of `bastion simulate`. Its last four weeks are run twice, on a fleet that they
fill and on one that is too small for them: Philly's on 544 and 448 GPUs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

from bastion.model.settings.config import Config
from bastion.quota.quota_file import parse
from bastion.simulate import trace
from bastion.simulate.simulated_run import RunSettings, everybody, simulate
from bastion.simulate.simulation_report import SimulationReport, row
from bastion.simulate.workload import Arrival, WorkPace
from tests.bench import made
from tests.bench.rows import Row, short, show

DAY = timedelta(days=1)
BEGIN, LENGTH, LONGEST = 28 * DAY, 28 * DAY, 7 * DAY
JOBS_MIN = 50
KIND = "gpu"
POLICIES = ("axlearn", "default")
PHILLY = (544, 448)


@dataclass(frozen=True, slots=True)
class Pass:
    """Some jobs on a fleet of so many GPUs. `bounds` are what hours may be at most; None: no such hours are known."""

    name: str
    jobs: Sequence[Arrival]
    gpus: int
    bounds: Bounds | None


@dataclass(frozen=True, slots=True)
class Bounds:
    """Goals that only hold on the trace on which they were measured; `stops` is the part of axlearn's preemptions."""

    stops: float
    mean_wait_h: float
    big_gang_h: float
    eight_gpus_h: float


PHILLY_BOUNDS = (Bounds(0.20, 1.4, 30, 14), Bounds(0.25, 7.4, 40, 81))
"""Of the fleet that is filled, and of the one that is too small."""


def window(jobs: Iterable[Arrival]) -> list[Arrival]:
    """The last four weeks, no job longer than a week, without projects that have few jobs."""
    begin = trace.EPOCH + BEGIN
    inside = [
        replace(job, at=trace.EPOCH + (job.at - begin), work=tuple(min(LONGEST, work) for work in job.work))
        for job in jobs
        if begin <= job.at < begin + LENGTH
    ]
    counts: dict[str, int] = {}
    for job in inside:
        counts[job.spec.project] = counts.get(job.spec.project, 0) + 1
    return [job for job in inside if counts[job.spec.project] >= JOBS_MIN]


def quota(jobs: Sequence[Arrival], gpus: int) -> str:
    """A quota file: half of the fleet by each project's demand, half in equal parts."""
    demand: dict[str, float] = {}
    for job in jobs:
        work = sum(job.work, timedelta()) / DAY
        demand[job.spec.project] = demand.get(job.spec.project, 0.0) + work * job.spec.demand[KIND]
    lines = ['[toml-schema]\nversion = "1"\n[total_resources]', f"{KIND} = {gpus}"]
    for project, own in sorted(demand.items()):
        share = 0.5 * own / sum(demand.values()) + 0.5 / len(demand)
        lines.append(f"[project_resources.{project}]\n{KIND} = {share - 5e-7:.6f}")  # rounded down: together at most 1
    return "\n".join(lines) + "\n"


def passes(path: Path | None) -> list[Pass]:
    """What is run: a real trace, or one that is made."""
    if path is None:
        jobs = window(trace.read(made.trace(), KIND))
        return [Pass("made-a", jobs, made.GPUS[0], None), Pass("made-b", jobs, made.GPUS[1], None)]
    with path.open(encoding="utf-8") as file:
        jobs = window(trace.read(file, KIND))
    return [
        Pass(name, jobs, gpus, bounds)
        for name, gpus, bounds in zip(("philly-a", "philly-b"), PHILLY, PHILLY_BOUNDS, strict=True)
    ]


def run(one: Pass, policy: str) -> tuple[SimulationReport, float]:
    """The numbers of a policy, and the seconds of the processor that they took."""
    scene = RunSettings(
        quota=everybody(parse(quota(one.jobs, one.gpus))),
        config=Config(policy=policy),
        pace=WorkPace(timedelta(minutes=10), tick=timedelta(seconds=30)),
        kind=KIND,
        until=LENGTH,
    )
    began = time.process_time()
    done = simulate(scene, one.jobs)
    return done.report, time.process_time() - began


def compared(one: Pass) -> Iterator[Row]:
    """Ours against the incumbent's, a row for each number."""
    theirs, took = run(one, POLICIES[0])
    ours, seconds = run(one, POLICIES[1])
    a, b, bounds = row(theirs, KIND), row(ours, KIND), one.bounds
    part = bounds.stops if bounds else 0.25
    pool_hours = one.gpus * (LENGTH / timedelta(hours=1))

    def line(what: str, value: float, unit: str, goal: float, other: float, *, more: bool = False) -> Row:
        return Row(what, value, unit, goal, more=more, incumbent=short(other))

    yield line("preemptions", b["preemptions"], "", part * a["preemptions"], a["preemptions"])
    yield line("preemptions of one job, at most", b["worst_job_preemptions"], "", 6, a["worst_job_preemptions"])
    yield line("GPU-hours lost", b["lost_gpu_hours"], "h", 0.1 * a["lost_gpu_hours"], a["lost_gpu_hours"])
    violated = [100 * each["share_violation_gpu_hours"] / pool_hours for each in (b, a)]
    yield line("shares violated, of the pool", violated[0], "%", 0.1, violated[1])
    yield line("idle though a job fits", 100 * b["idle_though_fits"], "%", 0.1, 100 * a["idle_though_fits"])
    best = max(a["utilisation"], b["utilisation"])
    yield line("utilisation", 100 * b["utilisation"], "%", 100 * best - 0.5, 100 * a["utilisation"], more=True)
    mean = bounds.mean_wait_h if bounds else a["wait_h"]["mean"]
    yield line("wait, mean", b["wait_h"]["mean"], "h", mean, a["wait_h"]["mean"])
    for name in ("p50", "p95", "p99"):
        yield line(f"  {name}", b["wait_h"][name], "h", 0, a["wait_h"][name])
    gang = bounds.big_gang_h if bounds else 0
    yield line(
        "wait of big gangs (16+ GPUs), longest", b["big_gang_wait_h"]["max"], "h", gang, a["big_gang_wait_h"]["max"]
    )
    yield line("  median", b["big_gang_wait_h"]["p50"], "h", 0, a["big_gang_wait_h"]["p50"])
    for size in a["by_size"]:
        goal = bounds.eight_gpus_h if bounds and size == "8" else 0
        yield line(f"wait for {size} GPUs, p95", b["by_size"][size]["p95"], "h", goal, a["by_size"][size]["p95"])
    yield line("simulated in", seconds, "s CPU", 180 if bounds else 0, took)


def main(words: Sequence[str]) -> int:
    """Run both passes, and print a table of each."""
    for one in passes(Path(words[0]) if words else None):
        show(f"{one.name}: {len(one.jobs):,} jobs on {one.gpus} GPUs; default against axlearn", list(compared(one)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
