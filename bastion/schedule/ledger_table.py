"""Turn a ledger into numbers that people read: hours, medians, totals. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .ledger import Ledger, LedgerEntry
from .time_integral import TimeIntegral

HOUR = 3_600_000_000
"""Microseconds in an hour."""
SECOND = 1_000_000
"""Microseconds in a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """One entry of a ledger, as numbers.

    who: the name of the user, project or job.
    jobs: the number of its jobs.
    starts: the number of attempts that started in the window.
    wait_median_s: the median wait before a start, in seconds; None if nothing started.
    wait_p95_s: the wait that at least 95% of the starts did not exceed, in seconds; None if nothing started.
    suffered: how many of its attempts were asked to stop for other jobs.
    caused: how many attempts were stopped for its jobs.
    unit_hours: what it held, in unit-hours by kind.
    share_hours: what it was promised, in unit-hours by kind. Only projects have shares; the total has the capacity
        here.
    """

    who: str
    jobs: int
    starts: int
    wait_median_s: float | None
    wait_p95_s: float | None
    suffered: int
    caused: int
    unit_hours: dict[str, float]
    share_hours: dict[str, float]

    def row(self) -> dict[str, Any]:
        """Return the line for scripts, without the name."""
        return {
            "jobs": self.jobs,
            "starts": self.starts,
            "wait_s": {"median": self.wait_median_s, "p95": self.wait_p95_s},
            "preemptions": {"suffered": self.suffered, "caused": self.caused},
            "unit_hours": self.unit_hours,
            "share_hours": self.share_hours,
        }


def entry_lines(ledger: Ledger, by: str) -> list[LedgerLine]:
    """Return a line for every entry, the largest part of the fleet first.

    By project, projects with a share are listed too if they used nothing.
    """
    promised = _promised(ledger) if by == "project" else {}
    names = {*ledger.entries, *promised}
    empty = LedgerEntry()
    found = [_line(name, ledger.entries.get(name, empty), promised.get(name, {})) for name in names]
    capacity = _hours(ledger.capacity)
    return sorted(found, key=lambda line: (-_part(line.unit_hours, capacity), line.who))


def total_line(ledger: Ledger, lines: Iterable[LedgerLine]) -> LedgerLine:
    """Return all entries together. Their `share_hours` are the whole capacity."""
    everybody = LedgerEntry()
    for entry in ledger.entries.values():
        everybody.jobs += entry.jobs
        everybody.waits.extend(entry.waits)
        everybody.suffered += entry.suffered
        everybody.caused += entry.caused
    line = _line("TOTAL", everybody, _hours(ledger.capacity))
    for each in lines:
        for kind, hours in each.unit_hours.items():
            line.unit_hours[kind] = line.unit_hours.get(kind, 0.0) + hours
    return line


def _line(who: str, entry: LedgerEntry, share_hours: dict[str, float]) -> LedgerLine:
    waits = sorted(entry.waits)
    return LedgerLine(
        who=who,
        jobs=entry.jobs,
        starts=len(waits),
        wait_median_s=_median(waits) / SECOND if waits else None,
        wait_p95_s=_p95(waits) / SECOND if waits else None,
        suffered=entry.suffered,
        caused=entry.caused,
        unit_hours=_hours(entry.held),
        share_hours=share_hours,
    )


def _median(waits: list[int]) -> float:
    return (waits[(len(waits) - 1) // 2] + waits[len(waits) // 2]) / 2


def _p95(waits: list[int]) -> int:
    """Return the smallest wait that at least 95% of all waits do not exceed."""
    return waits[-(-95 * len(waits) // 100) - 1]


def hours(amounts: Mapping[str, int]) -> dict[str, float]:
    """Convert units times microseconds, by kind, to unit-hours."""
    return {kind: round(amount / HOUR, 6) for kind, amount in sorted(amounts.items()) if amount}


def _hours(integrals: dict[str, TimeIntegral]) -> dict[str, float]:
    return {
        kind: round(sum(integral.sums) / HOUR, 6) for kind, integral in sorted(integrals.items()) if any(integral.sums)
    }


def _promised(ledger: Ledger) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for (project, kind), integral in sorted(ledger.promised.items()):
        if any(integral.sums):
            found.setdefault(project, {})[kind] = round(sum(integral.sums) / HOUR, 6)
    return found


def _part(hours: dict[str, float], capacity: dict[str, float]) -> float:
    return max((amount / capacity.get(kind, 1.0) for kind, amount in hours.items()), default=0.0)
