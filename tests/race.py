"""Threads that start together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

T = TypeVar("T")


def race(works: Sequence[Callable[[], T]]) -> list[T]:
    """Do each in a thread of its own, all released at one moment. Results in order; the first failure is raised."""
    start = Barrier(len(works))

    def run(work: Callable[[], T]) -> T:
        start.wait(timeout=120)
        return work()

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result(timeout=300) for future in [pool.submit(run, work) for work in works]]
