"""Draw simulated runs as one HTML page: usage over time, and each project's usage, borrowing and share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from bastion.schedule.time_integral import TimeIntegral, Window
from bastion.simulate.simulated_run import SimulatedRun

from ...terminal import html_charts

Meters = Mapping[str, TimeIntegral]


def page(runs: Mapping[str, SimulatedRun], kind: str, *, title: str, numbers: Sequence[str]) -> str:
    """Return the page. `runs` must have logged their levels; `numbers` is the table as text."""
    return html_charts.page(
        title, [part for name, run in runs.items() for part in _of_run(name, run, kind)], "\n".join(numbers)
    )


def _of_run(name: str, run: SimulatedRun, kind: str) -> Iterator[str]:
    window = Window(run.since, run.until, html_charts.PARTS)
    used, borrowed = _meters(run, kind, window)
    yield html_charts.heading(name)
    largest = sorted(used.items(), key=lambda row: (-sum(row[1].sums), row[0]))
    there = _steady(window, run.shares.capacity.get(kind, 0))
    yield html_charts.stacked(window, largest, there, title=f"{kind} in use, by project")
    yield html_charts.few(
        html_charts.against_share(
            window,
            [("used", meter), ("borrowed", borrowed[project])],
            _steady(window, run.shares.units(project).get(kind, 0)),
            title=f"{project}: {kind}",
        )
        for project, meter in largest
    )


def _meters(run: SimulatedRun, kind: str, window: Window) -> tuple[Meters, Meters]:
    """Return each project's use of the kind, and the part of it beyond the project's share."""
    used: dict[str, TimeIntegral] = defaultdict(lambda: TimeIntegral(window))
    borrowed: dict[str, TimeIntegral] = defaultdict(lambda: TimeIntegral(window))
    for level in run.levels:
        if level.kind == kind:
            place, share = window.place(level.at), run.shares.units(level.project).get(kind, 0)
            used[level.project].set(place, level.units)
            borrowed[level.project].set(place, max(0, level.units - share))
    for meter in (*used.values(), *borrowed.values()):
        meter.advance(window.length)
    return used, borrowed


def _steady(window: Window, units: int) -> TimeIntegral:
    """Return a constant amount over the whole window."""
    meter = TimeIntegral(window)
    meter.set(0, units)
    meter.advance(window.length)
    return meter
