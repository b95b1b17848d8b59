"""Streams of jobs that are made from a seed, on 64 GPUs: does any size wait for long while smaller ones come and go?

Each stream has jobs of one size that come at random, work for 4 hours in the mean, and belong to 5 users. `axlearn` with
one user in each project stands for strict FIFO: it goes by age there. What is too large for now is passed over, and what
was started meanwhile is stopped for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import combinations
from random import Random
from statistics import fmean
from typing import NamedTuple

from bastion.simulate import trace
from bastion.simulate.workload import Arrival
from tests.bench.passes import KIND, OURS, THEIRS, Numbers, Pass, waits
from tests.bench.rows import Row, short

SEED = 1
GPUS, USERS = 64, 5
HOUR_S, DAY_S = 3_600.0, 86_400.0
MEAN_S, LEAST_S = 4 * HOUR_S, 10.0

GOALS_H = {0.93: 8, 0.98: 8, 1.05: 18}
"""How long a job of any size that comes once a day may wait at most, by the load of the fleet."""
ONE_A_DAY = (2, 4, 7, 8, 9, 16)
STREAM_DAYS = 18

EQUAL, EQUAL_LOAD = (1, 2, 4, 8), 1.10
OF_FIFO, OF_ANOTHER = 1.5, 2.0
"""The p95 of a size may be so many times what strict FIFO gives it, and so many times that of any other size."""

HALVES, HALF_LOAD, HALF_SIZE, HALF_GOAL_H = ("a", "b"), 1.08, 4, 12
DAYS = 10


class Job(NamedTuple):
    """A line of a trace."""

    submit_s: float
    duration_s: float
    gpus: int
    project: str
    user: str


def stream(rng: Random, project: str, gpus: float, days: int, size: int = 1) -> Iterator[Job]:
    """Jobs of this size that would hold `gpus` in the mean if none waited."""
    now = 0.0
    while (now := now + rng.expovariate(gpus / size / MEAN_S)) < days * DAY_S:
        length = max(LEAST_S, rng.expovariate(1 / MEAN_S))
        yield Job(now, length, size, project, f"u{rng.randrange(USERS)}")


def daily(project: str, size: int, days: int) -> Iterator[Job]:
    """A job of one hour at each noon but the last, by a user who has no other."""
    for day in range(days - 1):
        yield Job((day + 0.5) * DAY_S, HOUR_S, size, project, "daily")


def made(jobs: Iterable[Job], projects: Iterable[str], days: int) -> Pass:
    """The pass of these jobs, with equal shares."""
    names = list(projects)
    return Pass("made", _arrivals(jobs), GPUS, dict.fromkeys(names, 1 / len(names)), timedelta(days=days))


def _arrivals(jobs: Iterable[Job]) -> list[Arrival]:
    lines = (f"{at:.3f},{length:.3f},{gpus},{project},{user}," for at, length, gpus, project, user in sorted(jobs))
    return trace.read(["submit_s,duration_s,gpus,project,user,priority", *lines], KIND)


def tables() -> Iterator[tuple[str, list[Row]]]:
    """All cases, each with its title."""
    for load, goal_h in GOALS_H.items():
        yield f"one larger job a day among single GPUs at load {load:.2f}; default", list(one_a_day(load, goal_h))
    yield f"one project, all sizes at load {EQUAL_LOAD:.2f}; default against FIFO", list(one_project())
    yield f"two halves at load {HALF_LOAD:.2f}; default against axlearn", list(two_projects())


def one_a_day(load: float, goal_h: float) -> Iterator[Row]:
    """For each size a run of 18 days: a stream of single GPUs from the same seed, and a job a day by somebody else."""
    longest, single = [], []
    for size in ONE_A_DAY:
        gpus = GPUS * load - size * HOUR_S / DAY_S
        jobs = [*stream(Random(f"{SEED} {load}"), "p", gpus, STREAM_DAYS), *daily("p", size, STREAM_DAYS)]
        found = made(jobs, ["p"], STREAM_DAYS).run(OURS)["wait_h_by_size"]
        longest.append(found[str(size)]["max"])
        single.append(found["1"])
        yield Row(f"wait for {size} GPUs, longest", longest[-1], "h", goal_h)
    sooner = max(smaller - larger for smaller, larger in combinations(longest, 2))
    yield Row("a size is served sooner than a smaller one, by at most", max(0.0, sooner), "h")
    for what, name in (("wait for 1 GPU, p95: mean of the runs", "p95"), ("  median", "p50"), ("  longest", "max")):
        yield Row(what, fmean(each[name] for each in single), "h")


def one_project() -> Iterator[Row]:
    """Jobs of four sizes in one project for 10 days, as many GPU-hours of each."""
    rng = Random(f"{SEED} sizes")
    jobs = [job for size in EQUAL for job in stream(rng, "p", GPUS * EQUAL_LOAD / len(EQUAL), DAYS, size)]
    ours = made(jobs, ["p"], DAYS).run(OURS)
    fifo = made([job._replace(user="") for job in jobs], ["p"], DAYS).run(THEIRS)
    yield from waits(ours, fifo, {size: OF_FIFO * each["p95"] for size, each in fifo["wait_h_by_size"].items()})
    most, theirs = (_spread(numbers) for numbers in (ours, fifo))
    yield Row("the largest p95 of a size against the smallest", most, "times", OF_ANOTHER, incumbent=short(theirs))
    yield from _beside(ours, fifo)


def two_projects() -> Iterator[Row]:
    """Two projects that both have too much to do for 10 days, each with a stream of single GPUs and one job a day."""
    rng = Random(f"{SEED} halves")
    jobs: list[Job] = []
    for project in HALVES:
        jobs += [*stream(rng, project, GPUS * HALF_LOAD / 2, DAYS), *daily(project, HALF_SIZE, DAYS)]
    both = made(jobs, HALVES, DAYS)
    ours, theirs = both.run(OURS), both.run(THEIRS)
    longest, other = (numbers["wait_h_by_size"][str(HALF_SIZE)]["max"] for numbers in (ours, theirs))
    yield Row(f"wait for {HALF_SIZE} GPUs, longest", longest, "h", HALF_GOAL_H, incumbent=short(other))
    yield from waits(ours, theirs, {})
    yield from _beside(ours, theirs)


def _spread(numbers: Numbers) -> float:
    found = [each["p95"] for each in numbers["wait_h_by_size"].values()]
    return float(max(found) / min(found))


def _beside(ours: Numbers, theirs: Numbers) -> Iterator[Row]:
    """The numbers that could pay for the waits."""
    yield Row("wait, mean", ours["wait_h"]["mean"], "h", incumbent=short(theirs["wait_h"]["mean"]))
    yield Row("preemptions", ours["preemptions"], "", incumbent=short(theirs["preemptions"]))
    yield Row("utilisation", 100 * ours["utilisation"], "%", incumbent=short(100 * theirs["utilisation"]))
