"""`bastion usage`: report usage, waiting times and preemptions, from the journal alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from bastion.journal import journal_reader, point_in_time, recover
from bastion.launcher.read.job_rows import gap_lines, gap_rows, rfc3339
from bastion.launcher.read.view import tick_age_s
from bastion.model.durations import moment, short
from bastion.model.errors import UsageError
from bastion.model.interfaces import Bucket, Map
from bastion.model.nearest import did_you_mean
from bastion.model.stored.journal_object import Gap, Gaps
from bastion.platform.system import SystemClock, ThreadTasks
from bastion.schedule.ledger import BY, EntryName, Ledger
from bastion.schedule.ledger_table import LedgerLine, entry_lines, hours, total_line
from bastion.schedule.time_integral import Window

from ..common.place import known_place_of
from ..options.bastion import UsageOptions
from ..terminal import html_charts
from ..terminal.main import DONE, Call
from ..terminal.output import Output
from ..terminal.table import CSV, JSON, TABLE, format_of, table


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageFound:
    """The result of adding up.

    by: the kind of entries: project, user or job.
    labels: the labels of the jobs that are counted; empty: all are counted.
    ledger: the closed ledger of the window.
    lines: the entries, the largest first.
    total: all jobs that are counted, as one line.
    gaps: the gaps in the journal.
    bastion: the bastion's name, and the age of its last tick in seconds.
    """

    by: str
    labels: Mapping[str, str]
    ledger: Ledger
    lines: Sequence[LedgerLine]
    total: LedgerLine
    gaps: Sequence[Gap]
    bastion: Mapping[str, Any]


def run(call: Call[UsageOptions]) -> int:
    """Add up and print."""
    form = format_of(call.options.output, call.options.json, TABLE, CSV, JSON)
    found = _found(call)
    if call.options.plot:
        html_charts.save(Path(call.options.plot), _drawn(found))
        call.output.note(f"plotted in {call.options.plot}")
    if form == JSON:
        call.output.data(_json(found))
    elif form == CSV:
        for line in gap_lines(found.gaps):
            call.output.note(line)
        call.output.csv(list(csv_rows(found.lines, found.by)))
    else:
        foot = [*gap_lines(found.gaps), *_later(found.ledger), _foot(found)]
        call.output.say("\n".join([*_table(call.output, found), *foot]))
    return DONE


def _found(call: Call[UsageOptions]) -> UsageFound:
    by, now, gaps = _by(call.options.by), SystemClock().wall(), Gaps()
    window, place = _window(call, now), known_place_of(call)
    with call.output.progress("reading the journal"):
        ledger = read_ledger(place.bucket, window, _of(by, call.options.label), ThreadTasks().map, gaps)
    lines = entry_lines(ledger, by)
    if labels := call.options.label:  # a share is for all jobs of a project, so it says nothing about some of them
        lines = [replace(line, share_hours={}) for line in lines if line.who in ledger.entries]
    bastion = {"name": place.name, "last_tick_age_s": tick_age_s(place.status(), now)}
    total = total_line(ledger, lines)
    return UsageFound(by=by, labels=labels, ledger=ledger, lines=lines, total=total, gaps=gaps.found, bastion=bastion)


def _json(found: UsageFound) -> dict[str, Any]:
    window = found.ledger.window
    return {
        "schema": 1,
        "by": found.by,
        **({"labels": dict(found.labels)} if found.labels else {}),
        "since": rfc3339(window.since),
        "until": rfc3339(window.until),
        "rows": [{found.by: line.who, **line.row()} for line in found.lines],
        "total": found.total.row(),
        "found_out_later": hours(found.ledger.later),
        "bastion": found.bastion,
        **gap_rows(found.gaps),
    }


def _drawn(found: UsageFound) -> str:
    window = found.ledger.window
    title = f"{found.bastion['name']}: {window.since:%Y-%m-%d %H:%M} to {window.until:%Y-%m-%d %H:%M} UTC{_only(found)}"
    numbers = "\n".join(rows(found.lines, found.total, found.by))
    return page(found.ledger, found.lines, by=found.by, title=title, numbers=numbers)


def rows(lines: Sequence[LedgerLine], total: LedgerLine, by: str, width: int | None = None) -> list[str]:
    """Return the table. Hours are unit-hours of each kind. The last line compares the total with what there was."""
    kinds, shares = sorted(total.unit_hours), any(line.share_hours for line in lines)
    heads = [by.upper(), "JOBS", "STARTS", "WAIT", "WAIT-P95", "PREEMPTED", "PREEMPTS"]
    spare = heads[:0:-1]
    heads += [head for kind in kinds for head in (f"{kind.upper()}-HOURS", f"{kind.upper()}-OF-SHARE")[: 1 + shares]]
    cells = [_cells(line, kinds, shares) for line in (*lines, total)]
    return table(heads, cells, right=frozenset(heads[1:]), caps={heads[0]: 30}, width=width, spare=spare)


def csv_rows(lines: Sequence[LedgerLine], by: str) -> Iterator[tuple[object, ...]]:
    """Return the heads, then one row for each entry. The columns of the kinds come last."""
    kinds = sorted({kind for line in lines for kind in (*line.unit_hours, *line.share_hours)})
    heads = (by, "jobs", "starts", "wait_median_s", "wait_p95_s", "preemptions_suffered", "preemptions_caused")
    yield (*heads, *(f"{kind}_{what}_hours" for kind in kinds for what in ("unit", "share")))
    for line in lines:
        waits = ("" if wait is None else wait for wait in (line.wait_median_s, line.wait_p95_s))
        hours = (amounts.get(kind, 0.0) for kind in kinds for amounts in (line.unit_hours, line.share_hours))
        yield (line.who, line.jobs, line.starts, *waits, line.suffered, line.caused, *hours)


def _table(output: Output, found: UsageFound) -> list[str]:
    if not found.lines:
        return [f"nothing was submitted and nothing ran{_only(found)}"]
    heads, *rest = rows(found.lines, found.total, found.by, output.width)
    return [output.bold(heads), *rest]


def _cells(line: LedgerLine, kinds: Sequence[str], shares: bool) -> list[str]:
    waits = ["" if wait is None else short(wait) for wait in (line.wait_median_s, line.wait_p95_s)]
    cells = [line.who, str(line.jobs), str(line.starts), *waits, str(line.suffered), str(line.caused)]
    for kind in kinds:
        used, promised = line.unit_hours.get(kind, 0.0), line.share_hours.get(kind, 0.0)
        cells.append(f"{used:.2f}")
        if shares:
            cells.append(f"{used / promised:.0%}" if promised else "")
    return cells


def _only(found: UsageFound) -> str:
    """Return the words for a report that counts only jobs with some labels."""
    return (
        f", only jobs with {', '.join(f'{name}={value}' for name, value in found.labels.items())}"
        if found.labels
        else ""
    )


def _foot(found: UsageFound) -> str:
    window, bastion = found.ledger.window, found.bastion
    age = bastion["last_tick_age_s"]
    seen = "never seen" if age is None else f"last seen {short(age)} ago"
    return f"{rfc3339(window.since)} to {rfc3339(window.until)}{_only(found)}. bastion {bastion['name']}: {seen}."


def _later(ledger: Ledger) -> list[str]:
    """Return a line about time that is not counted.

    It is the time from the end of a process to the start of the bastion that noticed the end.
    """
    told = ", ".join(f"{amount:.2f} {kind}-hours" for kind, amount in hours(ledger.later).items())
    return [f"not counted: {told} of jobs that ended while no bastion was running"] if told else []


def _by(word: str) -> str:
    if word not in BY:
        raise UsageError(f"--by is {word[:64]!r}; {did_you_mean(word[:64], BY, 'use ' + ', '.join(BY))}")
    return word


def _of(by: str, labels: Mapping[str, str]) -> EntryName:
    """Return the function that names the entries; only jobs with these labels have one."""
    return lambda job, job_id: BY[by](job, job_id) if labels.items() <= job.labels.items() else None


def _window(call: Call[UsageOptions], now: datetime) -> Window:
    """Return the window from --since to --until, but not beyond now. Raises `UsageError`."""
    options = call.options
    until = min(now, moment(options.until, now, "--until")) if options.until else now
    since = moment(options.since, now)
    if since >= until:
        raise UsageError(f"--since is {rfc3339(since)} and not before {rfc3339(until)}; there is nothing between them")
    return Window(since, until, html_charts.PARTS if options.plot else 1)


def page(ledger: Ledger, lines: Sequence[LedgerLine], *, by: str, title: str, numbers: str) -> str:
    """Return the page. `lines` are the entries, the largest first; `numbers` is the table as text."""
    kinds = sorted({kind for line in lines for kind in line.unit_hours})
    return html_charts.page(title, [part for kind in kinds for part in _of_kind(ledger, lines, kind, by)], numbers)


def _of_kind(ledger: Ledger, lines: Sequence[LedgerLine], kind: str, by: str) -> Iterator[str]:
    yield html_charts.heading(kind)
    using = [line.who for line in lines if kind in line.unit_hours]
    held = {who: entry.held.get(kind) for who, entry in ledger.entries.items()}
    meters = [(who, held[who]) for who in using]
    yield html_charts.stacked(ledger.window, meters, ledger.capacity.get(kind), title=f"{kind} in use, by {by}")
    shares = [line.who for line in lines if kind in line.share_hours][: html_charts.SHOWN]
    if shares:
        yield html_charts.few(
            html_charts.against_share(
                ledger.window, [("used", held.get(who))], ledger.promised.get((who, kind)), title=f"{who}: {kind}"
            )
            for who in shares
        )


def read_ledger(bucket: Bucket, window: Window, of: EntryName, at_once: Map, gaps: Gaps) -> Ledger:
    """Return the closed ledger of a window; `of` as in `Ledger`. Raises `BucketError`, `NewerVersion`.

    It reads the journal once, up to the window's end, with a few objects in memory at a time. Objects that cannot be
    read are left out and listed in `gaps`.
    """
    state = recover.newest_snapshot(bucket, upto=point_in_time.number_at(bucket, window.since, at_once))
    begin, end = state.seq if state else 0, point_in_time.end(bucket)
    ledger = Ledger(window, of, state)
    last = journal_reader.time_of(bucket, end - 1) if end else None
    ledger.closes = last is None or last >= window.until
    for record in journal_reader.read(bucket, range(begin, end), at_once, gaps):
        if not ledger.take(record):
            break
    ledger.close()
    return ledger
