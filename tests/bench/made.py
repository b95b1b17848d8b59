"""A trace that is made from a seed, in the shape of a real one: nearly all jobs small and short, a few long, a few gangs."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

JOBS = 8_000
DAYS = 56
GPUS = (84, 68)
"""Fleets that its second half fills, and overfills."""

SIZES = ((1, 0.90), (2, 0.04), (4, 0.02), (8, 0.03), (16, 0.008), (32, 0.002))
PROJECTS = 9


def trace(seed: int = 1) -> Iterator[str]:
    """Its lines. By day more comes than by night, and half of the projects have most of the jobs."""
    rng = Random(seed)
    sizes, weights = zip(*SIZES, strict=True)
    yield "submit_s,duration_s,gpus,project,user,priority"
    for _ in range(JOBS):
        day, hour = rng.randrange(DAYS), rng.choices(range(24), [1 + 2 * (8 <= hour < 20) for hour in range(24)])[0]
        submit = 86_400 * day + 3_600 * hour + rng.randrange(3_600)
        seconds = round(min(7 * 86_400.0, rng.lognormvariate(8.4, 2.2)))
        project = min(int(rng.expovariate(0.5)), PROJECTS - 1)
        yield f"{submit},{max(10, seconds)},{rng.choices(sizes, weights)[0]},p{project},u{rng.randrange(5)},"
