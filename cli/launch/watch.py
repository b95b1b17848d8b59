"""`launch ls --watch`: drawn in place on a terminal; elsewhere printed again when there is news."""

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
"""What was seen last, and why it is not newer; empty if it is."""


def interval(seconds: float | None) -> float | None:
    """The pause between two looks, if there is to be a second one. Raises `UsageError`."""
    if seconds is not None and not EVERY_MIN_S <= seconds < inf:
        raise UsageError(f"--watch is {seconds:g}; use {EVERY_MIN_S:g} seconds or more")
    return seconds


def looks(first: View, reader: Reader, clock: Clock, every_s: float) -> Looks:
    """One look after the other, without end. Raises `BucketError` if waiting would not help."""
    view, problem = first, ""
    while True:
        yield view, problem
        clock.sleep(every_s)
        try:
            view, problem = reader.look(thrifty=True), ""
        except (Denied, NoBucket):
            raise
        except BucketError as error:
            problem = f"{error}; trying on"


def watch(output: Output, asked: TableOptions, seen: Looks) -> None:
    """Show the looks for as long as there are any, on a terminal in place; or until nobody reads any more."""
    if output.height is None or asked.form == JSON:
        _print(output, asked, seen)
    else:
        _draw(output, asked, seen)


def _print(output: Output, asked: TableOptions, seen: Looks) -> None:
    """A table or an object for each look that has news."""
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
    """Each look in place of the one before."""
    with output.screen() as draw:
        for view, problem in seen:
            found, foot = page(asked.of(view), asked, output.width)
            foot = [*foot, *([problem] if problem else [])]
            lines = cropped(found, (output.height or 0) - len(foot)) + foot
            draw([end(line, output.width) for line in lines])


def cropped(lines: list[str], room: int) -> list[str]:
    """The first of the lines, and how many more there are, if they are more than there is room for."""
    if len(lines) <= room:
        return lines
    kept = max(0, room - 1)
    return [*lines[:kept], f"{len(lines) - kept} more lines; -u, -p, -s and -n show fewer"][: max(0, room)]


@dataclass(frozen=True, slots=True)
class WatchShown:
    """What a look showed: how far the journal went, the jobs, and whether the bastion was alive."""

    seq: int
    rows: tuple[Row, ...]
    alive: str

    def is_news(self, before: WatchShown | None) -> bool:
        """True if it differs from what was told before. While the journal stands still, reasons only count down."""
        if before is None or before.alive != self.alive:
            return True
        if before.seq != self.seq:
            return before.rows != self.rows
        return [_still(row) for row in before.rows] != [_still(row) for row in self.rows]


def told(shown: QueueView) -> WatchShown:
    """What these jobs look like now; the state that they are in will change."""
    view = shown.view
    alive = word(view.status, now=view.now, died=False)
    return WatchShown(view.state.seq, tuple(shown.rows()), alive)


def _still(row: Row) -> Row:
    return {**row, "reason": ""}
