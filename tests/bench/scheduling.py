"""The policies on four weeks of jobs, and on made streams: `python -m tests.bench.scheduling [TRACE] [--arrivals=N]`.

A trace of eight weeks or more has the form of `bastion simulate`. Its last four weeks are run twice, on a fleet that they
fill and on one that is too small for them: Philly's on 544 and 448 GPUs. Without a trace the same is done on one that is
made, and after it come the streams (`tests.bench.streams`).

A run is chaotic: a job that comes a minute later changes which jobs are stopped, and so all that follows. With
`--arrivals=4` each number is a mean over four runs: the jobs as they are, and three times each up to 5 minutes later.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import floor
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from bastion.simulate import trace
from bastion.simulate.workload import Arrival
from tests.bench import made, streams
from tests.bench.passes import KIND, OURS, THEIRS, Numbers, Pass, waits
from tests.bench.rows import Row, short, show

DAY = timedelta(days=1)
BEGIN, LENGTH, LONGEST = 28 * DAY, 28 * DAY, 7 * DAY
JOBS_MIN = 50
LATER = timedelta(minutes=5)
PHILLY = (544, 448)


@dataclass(frozen=True, slots=True)
class Bounds:
    """Goals that only hold on the trace on which they were measured; `stops` is the part of axlearn's preemptions.

    `p95_h` are hours that a size may wait, at the 95th percentile.
    """

    stops: float
    mean_wait_h: float
    big_gang_h: float
    p95_h: Mapping[str, float]


PHILLY_BOUNDS = (Bounds(0.15, 1.1, 26, {"8": 29}), Bounds(0.21, 6.3, 28, {"4": 40, "8": 146}))
"""Of the fleet that is filled, and of the one that is too small: means over four arrivals."""


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


def shares(jobs: Sequence[Arrival]) -> dict[str, float]:
    """The share of each project: half of the fleet by their demand, half in equal parts."""
    demand: dict[str, float] = {}
    for job in jobs:
        work = sum(job.work, timedelta()) / DAY
        demand[job.spec.project] = demand.get(job.spec.project, 0.0) + work * job.spec.demand[KIND]
    parts = {project: 0.5 * own / sum(demand.values()) + 0.5 / len(demand) for project, own in demand.items()}
    return {project: floor(1e6 * part) / 1e6 for project, part in parts.items()}  # rounded down: together at most 1


def passes(path: Path | None) -> list[tuple[Pass, Bounds | None]]:
    """What is run: a real trace, or one that is made. None: no goals are known."""
    bounds: Sequence[Bounds | None] = (None, None)
    if path is None:
        jobs = window(trace.read(made.trace(), KIND))
        names, fleets = ("made-a", "made-b"), made.GPUS
    else:
        with path.open(encoding="utf-8") as file:
            jobs = window(trace.read(file, KIND))
        names, fleets, bounds = ("philly-a", "philly-b"), PHILLY, PHILLY_BOUNDS
    found = [Pass(name, jobs, gpus, shares(jobs), LENGTH) for name, gpus in zip(names, fleets, strict=True)]
    return list(zip(found, bounds, strict=True))


def moved(one: Pass, seed: int) -> Pass:
    """The same jobs, each up to 5 minutes later; for seed 0 as they are."""
    if not seed:
        return one
    rng = Random(seed)
    jobs = [replace(job, at=job.at + rng.uniform(0, 1) * LATER) for job in one.jobs]
    return replace(one, jobs=sorted(jobs, key=lambda job: job.at))


def means(runs: Sequence[Numbers]) -> Numbers:
    """The mean of each number over some runs of one policy."""
    return {name: _mean([numbers[name] for numbers in runs]) for name in runs[0]}


def _mean(values: Sequence[Any]) -> Any:
    if isinstance(values[0], Mapping):
        return means(values)
    return values[0] if isinstance(values[0], str) else fmean(values)


def compared(one: Pass, bounds: Bounds | None, arrivals: int = 1) -> Iterator[Row]:
    """Ours against the incumbent's, a row for each number: the mean over so many arrivals."""
    several = [moved(one, seed) for seed in range(arrivals)]
    a, b = (means([each.run(policy) for each in several]) for policy in (THEIRS, OURS))
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
    yield from waits(b, a, bounds.p95_h if bounds else {})
    yield line("simulated in", b["seconds"], "s CPU", 180 if bounds else 0, a["seconds"])


def main(words: Sequence[str]) -> int:
    """Run both passes, and print a table of each; without a trace those of the streams as well."""
    flags = ArgumentParser(prog="python -m tests.bench.scheduling")
    flags.add_argument("trace", nargs="?", type=Path, metavar="TRACE")
    flags.add_argument("--arrivals", type=int, default=1, metavar="N", help="means over so many arrivals")
    given = flags.parse_args(words)
    if given.arrivals < 1:
        flags.error(f"--arrivals is {given.arrivals}; use 1 or more")
    for one, bounds in passes(given.trace):
        title = f"{one.name}: {len(one.jobs):,} jobs on {one.gpus} GPUs; default against axlearn"
        if given.arrivals > 1:
            title += f"; means over {given.arrivals} arrivals"
        show(title, list(compared(one, bounds, given.arrivals)))
    if given.trace is None:
        for title, rows in streams.tables():
            show(title, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
