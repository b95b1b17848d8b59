"""Many seeds on all cores: what broke, what was seen on the way, and how fast it went."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.simulation.world import run

BATCH = 20
"""Seeds that one process runs at a time."""

BATCHES = 25
"""A process ends after so many of them: what stands still in the middle of a world that is over is never freed."""


@dataclass(slots=True)
class Tally:
    """What came of some seeds. `seen` counts faults, each also by the states of jobs that it met."""

    seeds: int = 0
    steps: int = 0
    broken: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)

    def add(self, other: Tally) -> None:
        """Take in what came of others."""
        self.seeds += other.seeds
        self.steps += other.steps
        self.broken += other.broken
        self.seen += other.seen


def batch(seeds: Sequence[int], steps: int | None) -> Tally:
    """Run these seeds, one after the other. What falls in another way than by a law counts as broken, too."""
    tally = Tally()
    for seed in seeds:
        tally.seeds += 1
        try:
            world = run(seed, steps)
        except AssertionError as error:
            tally.broken.append(str(error))
        except Exception as error:
            tally.broken.append(f"seed {seed} fell: {error!r}")
        else:
            tally.steps += world.trace.steps
            tally.seen += world.trace.seen
    return tally


def sweep(seeds: range, steps: int | None, told: Callable[[Tally], None]) -> Tally:
    """Run all seeds on all cores. `told` hears of the whole so far, after each batch."""
    whole = Tally()
    work = [(seeds[start : start + BATCH], steps) for start in range(0, len(seeds), BATCH)]
    for tally in _done(work):
        whole.add(tally)
        told(whole)
    return whole


def _done(work: Sequence[tuple[range, int | None]]) -> Iterator[Tally]:
    cores = min(os.cpu_count() or 1, len(work))
    if cores <= 1:
        yield from (batch(*each) for each in work)
        return
    with multiprocessing.get_context("spawn").Pool(cores, maxtasksperchild=BATCHES) as pool:
        yield from pool.imap_unordered(_batch, work)


def _batch(each: tuple[range, int | None]) -> Tally:
    return batch(*each)


def summary(tally: Tally, storm: int, begun: float) -> str:
    """One line: how much was tried, how fast, and what broke. `begun` is of the monotonic clock."""
    seconds = max(time.monotonic() - begun, 1e-9)
    return (
        f"{tally.seeds} seeds x {storm} steps of storm: {tally.steps} steps in {seconds:.0f} s, "
        f"{tally.steps / seconds:.0f} steps per second, {len(tally.broken)} violations"
    )
