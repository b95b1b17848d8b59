"""In which order tests run: what takes long first, and what shares an engine on one worker.

A worker of xdist begins with a row of tests of its own, as many as each other's, and takes from the end of others' rows when
it is through. So each row begins with its part of the long ones, and ends with unit tests, which fill what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

T = TypeVar("T")

SECONDS = {
    "tests/images": 400,
    "tests/slurm": 200,
    "tests/ray": 150,
    "tests/chaos/test_chaos.py": 120,
    "tests/pages/test_play.py": 100,
    "tests/e2e/test_demo.py": 60,
    "tests/e2e": 30,
    "tests/google": 20,
    "tests/sim": 20,
    "tests/kubernetes": 20,
    "tests/contract": 10,
    "tests/pages": 10,
    "tests/launch": 5,
}
"""About what a module takes, or, of those in `TOGETHER`, a folder. It only has to be right about which are the long ones."""

TOGETHER = ("tests/images", "tests/slurm", "tests/ray")
"""Folders whose tests share an engine, which each worker that runs one of them has to start."""


def ordered(items: Sequence[T], path_of: Callable[[T], str], workers: int) -> list[T]:
    """The tests in rows of equal length, one for each worker; in each the longest modules first."""
    groups = [(group_of(path), list(group)) for path, group in groupby(items, path_of)]
    merged: dict[str, list[T]] = {}
    for name, group in groups:
        merged.setdefault(name, []).extend(group)
    long = sorted((name for name in merged if seconds(name)), key=lambda name: (-seconds(name), name))
    rows: list[list[T]] = [[] for _ in range(workers)]
    load = [0] * workers
    for name in long:
        least = load.index(min(load))
        load[least] += seconds(name)
        rows[least] += merged[name]
    short = [item for name, group in merged.items() if not seconds(name) for item in group]
    return _filled(rows, short, len(items))


def _filled(rows: list[list[T]], short: list[T], count: int) -> list[T]:
    """Rows as long as xdist cuts them. What is too much of one goes to the end of the next."""
    over: list[T] = []
    for index, row in enumerate(rows):
        size = count * (index + 1) // len(rows) - count * index // len(rows)
        over += row[size:]
        del row[size:]
        while len(row) < size and (over or short):
            row.append((over or short).pop(0))
    return [item for row in rows for item in row] + over + short


def group_of(path: str) -> str:
    """What stays together: a module, or a folder that shares an engine."""
    return next((folder for folder in TOGETHER if path.startswith(f"{folder}/")), path)


def seconds(group: str) -> int:
    """Of the most exact name that is known; 0: a short one."""
    known = [name for name in SECONDS if group == name or group.startswith(f"{name}/")]
    return SECONDS[max(known, key=len)] if known else 0
