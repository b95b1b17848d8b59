"""`bastion simulate`: run a trace under one or several policies, on a virtual fleet.

It needs no bucket and no bastion.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bastion.launcher.submit.build import amounts
from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean
from bastion.model.settings.config import POLICIES, Config
from bastion.platform.system import SystemClock
from bastion.quota.quota import Quota
from bastion.simulate.simulated_run import RunSettings, SimulatedRun, everybody, simulate
from bastion.simulate.simulation_report import row

from ..options.bastion import SimulateOptions
from ..terminal import html_charts
from ..terminal.main import DONE, Call
from .parts import simulate_plot, simulated
from .parts.quota_edit import load
from .parts.simulating import kind_of, pace_of, read_trace, some


def run(call: Call[SimulateOptions]) -> int:
    """Run the trace under each policy, and print the results."""
    policies, path = _policies(call.options.policy), _path(call.options.trace, "trace")
    scene = _scene(call, everybody(load(_path(call.options.quota, "quota"))[1]))
    with call.output.progress("reading the trace"):
        arrivals = read_trace(path, scene.kind)
    runs: dict[str, SimulatedRun] = {}
    took: dict[str, float] = {}
    clock = SystemClock()
    for policy in policies:
        began = clock.monotonic()
        with call.output.progress(f"simulating {policy}"):
            runs[policy] = simulate(scene.under(Config(policy=policy)), arrivals)
        took[policy] = clock.monotonic() - began
    _show(call, scene.kind, runs, took, title=path.name)
    return DONE


def _show(
    call: Call[SimulateOptions], kind: str, runs: Mapping[str, SimulatedRun], took: Mapping[str, float], title: str
) -> None:
    reports = [one.report for one in runs.values()]
    if call.options.plot:
        drawn = simulate_plot.page(runs, kind, title=title, numbers=simulated.lines(list(runs), reports, kind))
        html_charts.save(Path(call.options.plot), drawn)
        call.output.note(f"plotted in {call.options.plot}")
    if call.output.json:
        rows = [{**row(one.report, kind), "seconds": round(took[name], 3)} for name, one in runs.items()]
        call.output.data(rows[0] if len(rows) == 1 else rows)
        return
    tables = simulated.lines(list(runs), reports, kind, call.output.width, bold=call.output.bold)
    call.output.say("\n".join([*tables, *simulated.notes(list(runs), reports)]))


def _policies(text: str) -> list[str]:
    names = list(dict.fromkeys(text.split(",")))
    for name in names:
        if name not in POLICIES:
            hint = did_you_mean(name[:64], POLICIES, f"use {', '.join(POLICIES)}")
            raise UsageError(f"--policy has {name[:64]!r}; {hint}")
    return names


def _path(text: str | None, flag: str) -> Path:
    if not text:
        raise UsageError(f"--{flag} is missing; name a file, see bastion simulate --help")
    return Path(text)


def _scene(call: Call[SimulateOptions], quota: Quota) -> RunSettings:
    options = call.options
    return RunSettings(
        quota=quota,
        config=Config(),
        pace=pace_of(options),
        kind=kind_of(options, quota),
        capacity=amounts([options.capacity], "--capacity") if options.capacity else None,
        until=some(options.until, "--until") if options.until else None,
        big=options.big,
        log=bool(options.plot),
    )
