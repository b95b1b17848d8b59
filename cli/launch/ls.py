"""`launch ls`: list jobs, with the reasons of those that wait.

With `--watch`, the table is redrawn in place on a terminal; elsewhere, it is printed again on news. What decides the
reasons is loaded only when a job waits.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf
from textwrap import wrap

from bastion.launcher.read.job_rows import (
    CAPS,
    HEADS,
    RIGHT,
    SPARE,
    WIDE_HEADS,
    WIDE_RIGHT,
    QueueView,
    Row,
    csv_rows,
    footer,
    gap_lines,
    gap_rows,
    queue,
    wide_cells,
)
from bastion.launcher.read.reader import BastionReader
from bastion.launcher.read.view import LIVE, JobFilter, View, filter_of, tick_age_s
from bastion.model.errors import AccessDenied, BucketError, BucketNotFound, UsageError
from bastion.model.interfaces import Clock
from bastion.model.state.state import Job, JobState
from bastion.model.stored.status import word

from ..common.command_context import CommandContext, context_of, user_of
from ..options.launch import LsOptions
from ..options.shared import FilterOptions
from ..terminal.main import DONE, Call
from ..terminal.output import Output
from ..terminal.table import CSV, JSON, TABLE, WIDE, end, format_of, table
from .parts import job_names

EVERY_MIN_S = 0.5

Looks = Iterator[tuple[View, str]]
"""Pairs of the last view and the problem that keeps it from being newer. The problem is empty if the view is new."""

_WAITING = frozenset({JobState.PENDING, JobState.PROVISIONING})


def run(call: Call[LsOptions]) -> int:
    """Print the selected jobs, once or repeatedly."""
    every_s = interval(call.options.watch)
    context = context_of(call)
    filters = filter_of(call.options.of(FilterOptions), context.clock.wall())
    asked = _asked(call, context.bastion, filters)
    if every_s and asked.form == CSV:
        raise UsageError("--watch goes with tables and json; leave out --watch or --output=csv")
    reader = asked.reader(context)
    view = reader.look()
    job_names.seen(call, context, view)
    for line in filters.unknown_names(view):
        call.output.note(line)
    if every_s:
        watch(call.output, asked, looks(view, reader, context.clock, every_s))
    elif asked.form == CSV:
        call.output.csv(list(csv_rows(asked.of(view))))
    else:
        call.output.say(text(asked.of(view), asked, call.output))
    return DONE


def _asked(call: Call[LsOptions], bastion: str, filters: JobFilter) -> TableOptions:
    """Return the options of the table: the user's own jobs that have not ended, unless the flags select others."""
    user = user_of(call)
    if not call.options.all:
        filters = replace(filters, users=filters.users or frozenset({user}), states=filters.states or LIVE)
    form = format_of(call.options.output, call.options.json, TABLE, WIDE, CSV, JSON)
    return TableOptions(bastion=bastion, user=user, meant=filters, limit=call.options.limit, form=form)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The options of `launch ls`.

    bastion: the name of the bastion.
    user: the user who asks; own jobs come first.
    meant: the filter of the jobs.
    limit: the largest number of jobs; None: all.
    form: the format, one of those of `terminal.table`.
    """

    bastion: str
    user: str
    meant: JobFilter
    limit: int | None
    form: str

    def reader(self, context: CommandContext) -> BastionReader:
        """Return a reader. If only one user is selected, it reads no other user's requests."""
        users = self.meant.users or ()
        return context.reader(user=next(iter(users)) if len(users) == 1 else None)

    def of(self, view: View) -> QueueView:
        """Return the selected part of a view."""
        shown = queue(view, {}, user=self.user, meant=self.meant, limit=self.limit)
        if not any(isinstance(known, Job) and known.counts.keys() & _WAITING for known in shown.jobs):
            return shown
        from bastion.launcher.read.pending_reasons import derived

        return replace(shown, reasons=derived(view))


def text(shown: QueueView, asked: TableOptions, output: Output) -> str:
    """Return the table with its footer, or its JSON."""
    if asked.form == JSON:
        return json.dumps(_json(shown, asked.bastion), ensure_ascii=False)
    found, foot = page(shown, asked, output.width)
    return "\n".join([*map(output.bold, found[:1]), *found[1:], *foot])


def page(shown: QueueView, asked: TableOptions, width: int | None) -> tuple[list[str], list[str]]:
    """Return the table, empty without jobs, and its footer."""
    notes = [*gap_lines(shown.view.gaps), footer(shown, asked.bastion)]
    foot = [line for note in notes for line in wrap(note, width or sys.maxsize)]
    if not shown.jobs:
        return [], foot
    if asked.form == WIDE:
        return table(WIDE_HEADS, wide_cells(shown), right=WIDE_RIGHT), foot
    return table(HEADS, shown.cells(), right=RIGHT, caps=CAPS, width=width, spare=SPARE), foot


def _json(shown: QueueView, bastion: str) -> dict[str, object]:
    age = tick_age_s(shown.view.status, shown.view.now)
    seen = {"name": bastion, "last_tick_age_s": age}
    return {"schema": 1, "jobs": shown.rows(), "bastion": seen, **gap_rows(shown.view.gaps)}


def interval(seconds: float | None) -> float | None:
    """Return the seconds between two looks; None for a single look. Raises `UsageError`."""
    if seconds is not None and not EVERY_MIN_S <= seconds < inf:
        raise UsageError(f"--watch is {seconds:g}; use {EVERY_MIN_S:g} seconds or more")
    return seconds


def looks(first: View, reader: BastionReader, clock: Clock, every_s: float) -> Looks:
    """Look again and again, without end. Raises `BucketError` if waiting would not help."""
    view, problem = first, ""
    while True:
        yield view, problem
        clock.sleep(every_s)
        try:
            view, problem = reader.look(thrifty=True), ""
        except (AccessDenied, BucketNotFound):  # waiting would not help
            raise
        except BucketError as error:
            problem = f"{error}; trying again"


def watch(output: Output, asked: TableOptions, seen: Looks) -> None:
    """Show each look: in place on a terminal, else as text. It returns when the looks end.

    Raises `BrokenPipeError` when the reader of our output has gone.
    """
    if output.height is None or asked.form == JSON:
        _print(output, asked, seen)
    else:
        _draw(output, asked, seen)


def _print(output: Output, asked: TableOptions, seen: Looks) -> None:
    """Print a table or an object for each look that has news."""
    before: WatchShown | None = None
    said = ""
    for view, problem in seen:
        output.check_reader()
        if problem and problem != said:
            output.note(problem)
        said = problem
        shown = asked.of(view)
        now = told(shown)
        if now.is_news(before):
            between = "" if before is None or asked.form == JSON else "\n"
            output.say(between + text(shown, asked, output))
            before = now


def _draw(output: Output, asked: TableOptions, seen: Looks) -> None:
    """Draw each look in place of the one before."""
    with output.screen() as draw:
        for view, problem in seen:
            found, foot = page(asked.of(view), asked, output.width)
            foot = [*foot, *([problem] if problem else [])]
            lines = cropped(found, (output.height or 0) - len(foot)) + foot
            draw([end(line, output.width) for line in lines])


def cropped(lines: list[str], room: int) -> list[str]:
    """Return the first lines, and a line with the number of the others if there is not enough room for all."""
    if len(lines) <= room:
        return lines
    kept = max(0, room - 1)
    return [*lines[:kept], f"{len(lines) - kept} more lines; -u, -p, -s and -n show fewer"][: max(0, room)]


@dataclass(frozen=True, slots=True)
class WatchShown:
    """The content of one look, to detect news.

    seq: the number of the next journal object: how far the journal went.
    rows: the jobs.
    alive: the state of the bastion in one word.
    """

    seq: int
    rows: tuple[Row, ...]
    alive: str

    def is_news(self, before: WatchShown | None) -> bool:
        """Return True if it differs from the one before.

        While the journal stands still, changes of reasons are not news: they count down.
        """
        if before is None or before.alive != self.alive:
            return True
        if before.seq != self.seq:
            return before.rows != self.rows
        return [_still(row) for row in before.rows] != [_still(row) for row in self.rows]


def told(shown: QueueView) -> WatchShown:
    """Return the content of a look. It is a copy, because the state will change."""
    view = shown.view
    alive = word(view.status, now=view.now, died=False)
    return WatchShown(view.state.seq, tuple(shown.rows()), alive)


def _still(row: Row) -> Row:
    return {**row, "reason": ""}
