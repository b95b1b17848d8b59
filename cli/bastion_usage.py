"""`bastion usage`: who used how much of the fleet, waited how long, and preempted whom. From the journal alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from bastion.errors import UsageError
from bastion.ledger import BY
from bastion.ledger_rows import Line, entry_lines, total_line
from bastion.meter import Window
from bastion.nearest import did_you_mean
from bastion.read_ledger import read_ledger
from bastion.system import SystemClock, ThreadTasks
from cli import usage_plot
from cli.formats import CSV, JSON, TABLE, format_of
from cli.main import DONE, Call
from cli.output import Output
from cli.place import known_place_of
from cli.table import table
from launcher.durations import short
from launcher.rows import rfc3339
from launcher.streams import moment
from launcher.view import tick_age_s


def run(call: Call) -> int:
    """Add up and print."""
    form, by, now = format_of(call.flags, TABLE, CSV, JSON), _by(call.flags["by"]), SystemClock().wall()
    window, place = _window(call, now), known_place_of(call)
    with call.output.progress("reading the journal"):
        ledger = read_ledger(place.bucket, window, by, ThreadTasks().map)
    lines = entry_lines(ledger, by)
    total = total_line(ledger, lines)
    if call.flags["plot"]:
        title = f"{place.name}: {window.since:%Y-%m-%d %H:%M} to {window.until:%Y-%m-%d %H:%M} UTC"
        page = usage_plot.page(ledger, lines, by=by, title=title, numbers="\n".join(rows(lines, total, by)))
        usage_plot.save(Path(call.flags["plot"]), page)
        call.output.note(f"plotted in {call.flags['plot']}")
    bastion = {"name": place.name, "last_tick_age_s": tick_age_s(place.status(), now)}
    if form == JSON:
        span = {"since": rfc3339(window.since), "until": rfc3339(window.until)}
        found = [{by: line.who, **line.row()} for line in lines]
        call.output.data({"schema": 1, "by": by, **span, "rows": found, "total": total.row(), "bastion": bastion})
    elif form == CSV:
        call.output.csv(list(csv_rows(lines, by)))
    else:
        call.output.say("\n".join([*_table(call.output, lines, total, by), _foot(window, bastion)]))
    return DONE


def rows(lines: Sequence[Line], total: Line, by: str, width: int | None = None) -> list[str]:
    """The table. Hours are unit-hours by kind; what there was stands in the last line."""
    kinds, shares = sorted(total.unit_hours), any(line.share_hours for line in lines)
    heads = [by.upper(), "JOBS", "STARTS", "WAIT", "WAIT-P95", "PREEMPTED", "PREEMPTS"]
    spare = heads[:0:-1]
    heads += [head for kind in kinds for head in (f"{kind.upper()}-HOURS", f"{kind.upper()}-OF-SHARE")[: 1 + shares]]
    cells = [_cells(line, kinds, shares) for line in (*lines, total)]
    return table(heads, cells, right=frozenset(heads[1:]), caps={heads[0]: 30}, width=width, spare=spare)


def csv_rows(lines: Sequence[Line], by: str) -> Iterator[tuple[object, ...]]:
    """The names, then one row for each entry; the columns of the kinds come last."""
    kinds = sorted({kind for line in lines for kind in (*line.unit_hours, *line.share_hours)})
    heads = (by, "jobs", "starts", "wait_median_s", "wait_p95_s", "preemptions_suffered", "preemptions_caused")
    yield (*heads, *(f"{kind}_{what}_hours" for kind in kinds for what in ("unit", "share")))
    for line in lines:
        waits = ("" if wait is None else wait for wait in (line.wait_median_s, line.wait_p95_s))
        hours = (amounts.get(kind, 0.0) for kind in kinds for amounts in (line.unit_hours, line.share_hours))
        yield (line.who, line.jobs, line.starts, *waits, line.suffered, line.caused, *hours)


def _table(output: Output, lines: Sequence[Line], total: Line, by: str) -> list[str]:
    if not lines:
        return ["nothing was submitted and nothing ran"]
    heads, *rest = rows(lines, total, by, output.width)
    return [output.bold(heads), *rest]


def _cells(line: Line, kinds: Sequence[str], shares: bool) -> list[str]:
    waits = ["" if wait is None else short(wait) for wait in (line.wait_median_s, line.wait_p95_s)]
    cells = [line.who, str(line.jobs), str(line.starts), *waits, str(line.suffered), str(line.caused)]
    for kind in kinds:
        used, promised = line.unit_hours.get(kind, 0.0), line.share_hours.get(kind, 0.0)
        cells.append(f"{used:.2f}")
        if shares:
            cells.append(f"{used / promised:.0%}" if promised else "")
    return cells


def _foot(window: Window, bastion: Mapping[str, Any]) -> str:
    age = bastion["last_tick_age_s"]
    seen = "never seen" if age is None else f"last seen {short(age)} ago"
    return f"{rfc3339(window.since)} to {rfc3339(window.until)}. bastion {bastion['name']}: {seen}."


def _by(word: str) -> str:
    if word not in BY:
        raise UsageError(f"--by is {word[:64]!r}; {did_you_mean(word[:64], BY, 'use ' + ', '.join(BY))}")
    return word


def _window(call: Call, now: datetime) -> Window:
    """From --since to --until, and not beyond now. Raises `UsageError`."""
    flags = call.flags
    until = min(now, moment(flags["until"], now, "--until")) if flags["until"] else now
    since = moment(flags["since"], now)
    if since >= until:
        raise UsageError(f"--since is {rfc3339(since)} and not before {rfc3339(until)}; there is nothing between them")
    return Window(since, until, usage_plot.PARTS if flags["plot"] else 1)
