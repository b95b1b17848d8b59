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
class WaitTimes:
    """The waits of some tasks, in hours; all 0 if there are no tasks.

    tasks: number of tasks.
    mean: the mean wait.
    p50, p95, p99: percentiles.
    max: the longest wait.
    """

    tasks: int
    mean: float
    p50: float
    p95: float
    p99: float
    max: float

    @classmethod
    def of(cls, lengths: Iterable[timedelta]) -> WaitTimes:
        """Make it from lengths. A percentile is the smallest wait that this part of all waits does not exceed."""
        found = sorted(lengths)
        if not found:
            return cls(0, 0.0, 0.0, 0.0, 0.0, 0.0)
        at = [found[-(-percent * len(found) // 100) - 1] / HOUR for percent in (50, 95, 99, 100)]
        return cls(len(found), sum(found, timedelta()) / HOUR / len(found), *at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceNumbers:
    """The numbers of one kind of resource.

    utilisation: part of the capacity, over the window, that was held.
    violated_hours: unit-hours that projects lacked to their shares and could have used, while others were above theirs.
    idle_though_fits: part of the capacity, over the window, that was free while a waiting task would have fitted.
    lost_hours: unit-hours of work that stops lost and restarts took.
    """

    utilisation: float
    violated_hours: float
    idle_though_fits: float
    lost_hours: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectNumbers:
    """The numbers of one project.

    waits: waits of its tasks.
    stops: how often its attempts were preempted.
    lost_hours: unit-hours of work that stops lost and restarts took, by kind.
    """

    waits: WaitTimes
    stops: int
    lost_hours: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    """The numbers of one run.

    policy: name of the policy.
    jobs: number of jobs that took part.
    unfinished: jobs that were not over at the end.
    decisions: how often the policy was asked.
    waits: waits of all tasks.
    stops: number of preemptions.
    worst_job_stops: the most preemptions of one job.
    big: waits of tasks of big gangs.
    sizes: waits by the amount of `SizeMeasure.kind` that a task asks for.
    projects: numbers of each project.
    kinds: numbers of each kind of resource.
    left_out: number of jobs that could not be run, by reason.
    """

    policy: str
    jobs: int
    unfinished: int
    decisions: int
    waits: WaitTimes
    stops: int
    worst_job_stops: int
    big: WaitTimes
    sizes: Mapping[int, WaitTimes]
    projects: Mapping[str, ProjectNumbers]
    kinds: Mapping[str, ResourceNumbers]
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SizeMeasure:
    """The measure of the sizes of jobs.

    kind: the kind of resource that counts.
    big: a job of this size or more is a big gang.
    """

    kind: str
    big: int


def report(account: Summary, measure: SizeMeasure, **more: Any) -> SimulationReport:
    """Make the report of a closed account. `more` are the fields that the account does not have."""
    sizes: dict[int, list[timedelta]] = {}
    projects: dict[str, list[timedelta]] = {}
    for wait in account.waits:
        sizes.setdefault(wait.demand.get(measure.kind, 0), []).append(wait.length)
        projects.setdefault(wait.project, []).append(wait.length)
    return SimulationReport(
        jobs=account.jobs,
        unfinished=account.unfinished,
        waits=WaitTimes.of(wait.length for wait in account.waits),
        stops=account.stops,
        worst_job_stops=account.worst,
        big=WaitTimes.of(length for size, lengths in sizes.items() if size >= measure.big for length in lengths),
        sizes={size: WaitTimes.of(lengths) for size, lengths in sorted(sizes.items())},
        projects={name: _project(account, name, lengths) for name, lengths in sorted(projects.items())},
        kinds={kind: _amounts(account, kind) for kind in account.balances},
        **more,
    )


def _project(account: Summary, name: str, lengths: Iterable[timedelta]) -> ProjectNumbers:
    lost = {kind: units / UNIT_HOUR for kind, units in account.lost.get(name, {}).items()}
    return ProjectNumbers(waits=WaitTimes.of(lengths), stops=account.stops_of.get(name, 0), lost_hours=lost)


def _amounts(account: Summary, kind: str) -> ResourceNumbers:
    balance = account.balances[kind]
    capacity = balance.total * ((account.until - account.since) // MICROSECOND)
    lost = sum(kinds.get(kind, 0) for kinds in account.lost.values())
    return ResourceNumbers(
        utilisation=balance.busy / capacity if capacity else 0.0,
        violated_hours=balance.violated / UNIT_HOUR,
        idle_though_fits=balance.idle / capacity if capacity else 0.0,
        lost_hours=lost / UNIT_HOUR,
    )


def row(report: SimulationReport, kind: str) -> dict[str, Any]:
    """Return the numbers of one kind of resource, for scripts; hours and parts are rounded."""
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
        "wait_h_by_size": {
            str(size): _rounded({"p50": waits.p50, "p95": waits.p95, "max": waits.max})
            for size, waits in report.sizes.items()
        },
        "decisions": report.decisions,
        "unfinished": report.unfinished,
        "unrunnable": dict(report.left_out),
    }


def project_rows(report: SimulationReport) -> dict[str, Any]:
    """Return the numbers of every project, for scripts."""
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
