"""Lay out simulated runs side by side: a table of their numbers, and one of the waits by size. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bastion.simulate.simulated_run import LEFT_OUT
from bastion.simulate.simulation_report import ProjectNumbers, SimulationReport, WaitTimes

from ...terminal.table import table

_NOBODY = WaitTimes.of(())
_NOTHING = ProjectNumbers(waits=_NOBODY, stops=0, lost_hours={})


@dataclass(frozen=True, slots=True)
class _Number:
    """One row of the table.

    what: its name.
    form: the format of its value.
    of: returns the value from a report.
    """

    what: str
    form: str
    of: Callable[[SimulationReport], float]


COUNT, HOURS, PART = ",.0f", ",.2f", ".3%"

FOLD = 10
"""The largest factor that is shown as a percentage. A larger increase has none."""


def lines(
    names: Sequence[str],
    reports: Sequence[SimulationReport],
    kind: str,
    width: int | None = None,
    *,
    bold: Callable[[str], str] = str,
) -> list[str]:
    """Return the two tables of some runs, measured in this kind. Each has its heads in `bold`.

    The first has one row for each number and one column for each run. For two runs, its last column is the difference
    of the second. The second has one row for each size: how much of the kind a task asks for.
    """
    first, *numbers = _compared(names, reports, kind, width)
    second, *waits = _by_size(names, reports, kind, width)
    return [bold(first), *numbers, "", bold(second), *waits]


def _compared(names: Sequence[str], reports: Sequence[SimulationReport], kind: str, width: int | None) -> list[str]:
    heads = ["NUMBER", *names, *(["CHANGE"] if len(reports) == 2 else [])]
    rows = [_cells(number, reports) for number in _numbers(reports, kind)]
    return table(heads, rows, right=frozenset(heads[1:]), caps={heads[0]: 44}, width=width)


def _by_size(names: Sequence[str], reports: Sequence[SimulationReport], kind: str, width: int | None) -> list[str]:
    heads = ["HOURS WAITED", *(head for name in names for head in (f"{name}: p50", "p95", "max"))]
    sizes = sorted({size for report in reports for size in report.sizes})
    rows = [[f"{size} {kind}", *_waits([report.sizes.get(size, _NOBODY) for report in reports])] for size in sizes]
    return table(heads, rows, right=frozenset(heads[1:]), width=width)


def _waits(found: Sequence[WaitTimes]) -> list[str]:
    return [format(hours, HOURS) for waits in found for hours in (waits.p50, waits.p95, waits.max)]


def _cells(number: _Number, reports: Sequence[SimulationReport]) -> list[str]:
    values = [number.of(report) for report in reports]
    shown = [format(value, number.form) for value in values]
    return [number.what, *shown, *([_change(number.form, *values)] if len(values) == 2 else [])]


def _change(form: str, before: float, after: float) -> str:
    """Return the difference, with the percentage where it is useful."""
    if format(before, form) == format(after, form):
        return "="
    if form == PART:
        return f"{100 * (after - before):+.3f} points"
    text = format(after - before, f"+{form}")
    return f"{text} ({(after - before) / before:+.0%})" if after <= FOLD * before else text


def _numbers(reports: Sequence[SimulationReport], kind: str) -> Iterator[_Number]:
    yield _Number("jobs", COUNT, lambda report: report.jobs)
    yield _Number("jobs that never ended", COUNT, lambda report: report.unfinished)
    yield _Number(f"{kind} in use", PART, lambda report: report.kinds[kind].utilisation)
    yield _Number(f"{kind} idle though a job fits", PART, lambda report: report.kinds[kind].idle_though_fits)
    yield _Number(f"{kind}-hours of shares violated", HOURS, lambda report: report.kinds[kind].violated_hours)
    yield _Number(f"{kind}-hours lost", HOURS, lambda report: report.kinds[kind].lost_hours)
    yield _Number("preemptions", COUNT, lambda report: report.stops)
    yield _Number("preemptions of one job, at most", COUNT, lambda report: report.worst_job_stops)
    yield _Number("hours waited, mean", HOURS, lambda report: report.waits.mean)
    yield _Number("hours waited, median", HOURS, lambda report: report.waits.p50)
    yield _Number("hours waited, p95", HOURS, lambda report: report.waits.p95)
    yield _Number("hours waited, p99", HOURS, lambda report: report.waits.p99)
    yield _Number("hours waited by big gangs, median", HOURS, lambda report: report.big.p50)
    yield _Number("hours waited by big gangs, longest", HOURS, lambda report: report.big.max)
    for project in sorted({name for report in reports for name in report.projects}):
        yield from _of_project(project, kind)


def _of_project(name: str, kind: str) -> Iterator[_Number]:
    def numbers(report: SimulationReport) -> ProjectNumbers:
        return report.projects.get(name, _NOTHING)

    yield _Number(f"{name}: hours waited, mean", HOURS, lambda report: numbers(report).waits.mean)
    yield _Number(f"{name}: hours waited, p95", HOURS, lambda report: numbers(report).waits.p95)
    yield _Number(f"{name}: preemptions", COUNT, lambda report: numbers(report).stops)
    yield _Number(f"{name}: {kind}-hours lost", HOURS, lambda report: numbers(report).lost_hours.get(kind, 0.0))


def notes(names: Sequence[str], reports: Sequence[SimulationReport]) -> list[str]:
    """Return a line for each reason why a run left jobs out, and one if some never ended."""
    found = []
    for name, report in zip(names, reports, strict=True):
        found += [
            f"{name}: {number} jobs {LEFT_OUT[why]}; left out" for why, number in report.left_out.items() if number
        ]
        if report.unfinished:
            found.append(f"{name}: {report.unfinished} jobs never ended, because the policy never starts them")
    return found
