"""The numbers of one run, for people and for scripts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ..schedule.time_integral import MICROSECOND
from .summary import Summary

HOUR = timedelta(hours=1)
UNIT_HOUR = HOUR // MICROSECOND


@dataclass(frozen=True, slots=True)
class Waits:
    """The waits of some tasks, in hours; 0 if there are none."""

    tasks: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, lengths: Iterable[timedelta]) -> Waits:
        """Percentiles are the smallest wait that so many of all do not exceed."""
        found = sorted(lengths)
        if not found:
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        at = [found[-(-percent * len(found) // 100) - 1] / HOUR for percent in (50, 95, 99, 100)]
        return cls(len(found), sum(found, timedelta()) / HOUR / len(found), *at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """One kind of resource. Hours are unit-hours; `utilisation` and `idle_though_fits` are parts of the pool's time."""

    utilisation: float
    violated_hours: float
    idle_though_fits: float
    lost_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectNumbers:
    """What one project had."""

    waits: Waits
    stops: int
    lost_hours: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    """One run. `sizes` are by what a task asks of the kind in question; `big` is of those of that size or more."""

    policy: str
    jobs: int
    unfinished: int
    decisions: int
    waits: Waits
    stops: int
    worst_job_stops: int
    big: Waits
    sizes: Mapping[int, Waits]
    projects: Mapping[str, ProjectNumbers]
    kinds: Mapping[str, Amounts]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Measure:
    """What sizes are counted in, and from which size on a job is a big gang."""

    kind: str
    big: int


def report(account: Summary, measure: Measure, **more: Any) -> SimulationReport:
    """The numbers of a closed account."""
    sizes: dict[int, list[timedelta]] = {}
    projects: dict[str, list[timedelta]] = {}
    for wait in account.waits:
        sizes.setdefault(wait.demand.get(measure.kind, 0), []).append(wait.length)
        projects.setdefault(wait.project, []).append(wait.length)
    return SimulationReport(
        jobs=account.jobs,
        unfinished=account.unfinished,
        waits=Waits.of(wait.length for wait in account.waits),
        stops=account.stops,
        worst_job_stops=account.worst,
        big=Waits.of(length for size, lengths in sizes.items() if size >= measure.big for length in lengths),
        sizes={size: Waits.of(lengths) for size, lengths in sorted(sizes.items())},
        projects={name: _project(account, name, lengths) for name, lengths in sorted(projects.items())},
        kinds={kind: _amounts(account, kind) for kind in account.balances},
        **more,
    )


def _project(account: Summary, name: str, lengths: Iterable[timedelta]) -> ProjectNumbers:
    lost = {kind: units / UNIT_HOUR for kind, units in account.lost.get(name, {}).items()}
    return ProjectNumbers(waits=Waits.of(lengths), stops=account.stops_of.get(name, 0), lost_hours=lost)


def _amounts(account: Summary, kind: str) -> Amounts:
    balance = account.balances[kind]
    capacity = balance.total * ((account.until - account.since) // MICROSECOND)
    lost = sum(kinds.get(kind, 0) for kinds in account.lost.values())
    return Amounts(
        utilisation=balance.busy / capacity if capacity else 0.0,
        violated_hours=balance.violated / UNIT_HOUR,
        idle_though_fits=balance.idle / capacity if capacity else 0.0,
        lost_hours=lost / UNIT_HOUR,
    )


def row(report: SimulationReport, kind: str) -> dict[str, Any]:
    """The numbers for scripts, of one kind of resource; hours and parts are rounded to what is worth telling."""
    amounts = report.kinds[kind]
    waits = report.waits
    return {
        "policy": report.policy,
        "jobs": report.jobs,
        "utilisation": round(amounts.utilisation, 6),
        "wait_h": _rounded({"mean": waits.mean, "p50": waits.p50, "p95": waits.p95, "p99": waits.p99}),
        "preemptions": report.stops,
        "worst_job_preemptions": report.worst_job_stops,
        "lost_gpu_hours": round(amounts.lost_hours, 4),
        "share_violation_gpu_hours": round(amounts.violated_hours, 4),
        "idle_though_fits": round(amounts.idle_though_fits, 8),
        "big_gang_wait_h": _rounded({"p50": report.big.p50, "max": report.big.max}),
        "by_size": {str(size): _rounded({"p95": waits.p95}) for size, waits in report.sizes.items()},
        "decisions": report.decisions,
        "unfinished": report.unfinished,
        "unrunnable": dict(report.left_out),
    }


def project_rows(report: SimulationReport) -> dict[str, Any]:
    """The numbers of every project, for scripts."""
    return {
        name: {
            "wait_h": _rounded({"mean": one.waits.mean, "p95": one.waits.p95}),
            "preemptions": one.stops,
            "lost_hours": _rounded(one.lost_hours),
        }
        for name, one in report.projects.items()
    }


def _rounded(row: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in row.items()}
