"""One row for each number: what was measured, what it was to be, and what the incumbent needs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True, slots=True)
class Row:
    """A measurement. `goal` is a bound; 0: shown for itself. `more`: it is to be reached, not kept below."""

    what: str
    value: float
    unit: str
    goal: float = 0.0
    more: bool = False
    incumbent: str = ""

    @property
    def verdict(self) -> str:
        """Whether the goal was met."""
        if not self.goal:
            return ""
        return "ok" if (self.value >= self.goal if self.more else self.value <= self.goal) else "MISSED"


@dataclass(slots=True)
class Lap:
    """Seconds that a block took."""

    seconds: float = 0.0


@contextmanager
def lap() -> Iterator[Lap]:
    """Measure a block."""
    taken, began = Lap(), time.perf_counter()
    yield taken
    taken.seconds = time.perf_counter() - began


def thought(work: Callable[[], object], times: int = 5) -> float:
    """Seconds of the processor that `work` takes at least: what else the machine does plays no part."""
    laps = []
    for _ in range(times):
        began = time.process_time()
        work()
        laps.append(time.process_time() - began)
    return min(laps)


def typical(work: Callable[[], object], times: int = 5) -> float:
    """Seconds that `work` takes: the median of several."""
    laps = []
    for _ in range(times):
        with lap() as taken:
            work()
        laps.append(taken.seconds)
    return median(laps)


def short(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"


def show(title: str, rows: list[Row]) -> None:
    """Print the rows of one benchmark."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for heading in ("what", "measured", "goal", "", "incumbent"):
        table.add_column(heading, justify="right" if heading in ("measured", "goal") else "left")
    for row in rows:
        bound = f"{'>=' if row.more else '<='} {short(row.goal)} {row.unit}" if row.goal else ""
        table.add_row(row.what, f"{short(row.value)} {row.unit}", bound, row.verdict, row.incumbent)
    Console(width=150).print(table, "")
