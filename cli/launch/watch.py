"""`launch ls --watch`: redraw in place on a terminal; elsewhere, print again on news."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf

from bastion.launcher.read.job_rows import Row
from bastion.launcher.read.queue import QueueView
from bastion.launcher.read.reader import Reader
from bastion.launcher.read.view import View
from bastion.model.errors import BucketError, Denied, NoBucket, UsageError
from bastion.model.interfaces import Clock
from bastion.model.stored.status import word

from ..terminal.formats import JSON
from ..terminal.output import Output
from ..terminal.table import end
from .parts.job_table import TableOptions, page, text

EVERY_MIN_S = 0.5

Looks = Iterator[tuple[View, str]]
"""Pairs of the last view and the problem that keeps it from being newer. The problem is empty if the view is new."""


def interval(seconds: float | None) -> float | None:
    """Return the seconds between two looks; None for a single look. Raises `UsageError`."""
    if seconds is not None and not EVERY_MIN_S <= seconds < inf:
        raise UsageError(f"--watch is {seconds:g}; use {EVERY_MIN_S:g} seconds or more")
    return seconds


def looks(first: View, reader: Reader, clock: Clock, every_s: float) -> Looks:
    """Look again and again, without end. Raises `BucketError` if waiting would not help."""
    view, problem = first, ""
    while True:
        yield view, problem
        clock.sleep(every_s)
        try:
            view, problem = reader.look(thrifty=True), ""
        except (Denied, NoBucket):  # waiting would not help
            raise
        except BucketError as error:
            problem = f"{error}; trying on"


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
