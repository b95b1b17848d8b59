"""Select the jobs that `launch ls` shows of a view, and lay them out as text."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from textwrap import wrap

from bastion.launcher.read import gap_lines
from bastion.launcher.read.columns import WIDE_HEADS, WIDE_RIGHT, wide_cells
from bastion.launcher.read.job_selection import Filter
from bastion.launcher.read.pending_reasons import derived
from bastion.launcher.read.queue import CAPS, HEADS, RIGHT, SPARE, QueueView, footer, queue
from bastion.launcher.read.reader import Reader
from bastion.launcher.read.view import View, tick_age_s
from bastion.model.state.state import Job, JobState

from ...common.command_context import CommandContext
from ...terminal.formats import JSON, WIDE
from ...terminal.output import Output
from ...terminal.table import table

_WAITING = frozenset({JobState.PENDING, JobState.PROVISIONING})


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOptions:
    """The options of `launch ls`.

    bastion: the name of the bastion.
    user: the user who asks; own jobs come first.
    meant: the filter of the jobs.
    limit: the largest number of jobs; None: all.
    form: the format, one of `terminal.formats`.
    """

    bastion: str
    user: str
    meant: Filter
    limit: int | None
    form: str

    def reader(self, desk: CommandContext) -> Reader:
        """Return a reader. If only one user is selected, it reads no other user's requests."""
        users = self.meant.users or ()
        return desk.reader(user=next(iter(users)) if len(users) == 1 else None)

    def of(self, view: View) -> QueueView:
        """Return the selected part of a view."""
        shown = queue(view, {}, user=self.user, meant=self.meant, limit=self.limit)
        waits = any(isinstance(known, Job) and known.counts.keys() & _WAITING for known in shown.jobs)
        return replace(shown, reasons=derived(view)) if waits else shown


def text(shown: QueueView, asked: TableOptions, output: Output) -> str:
    """Return the table with its footer, or its JSON."""
    if asked.form == JSON:
        return json.dumps(_json(shown, asked.bastion), ensure_ascii=False)
    found, foot = page(shown, asked, output.width)
    return "\n".join([*map(output.bold, found[:1]), *found[1:], *foot])


def page(shown: QueueView, asked: TableOptions, width: int | None) -> tuple[list[str], list[str]]:
    """Return the table, empty without jobs, and its footer."""
    notes = [*gap_lines.lines(shown.view.holes), footer(shown, asked.bastion)]
    foot = [line for note in notes for line in wrap(note, width or sys.maxsize)]
    if not shown.jobs:
        return [], foot
    if asked.form == WIDE:
        return table(WIDE_HEADS, wide_cells(shown), right=WIDE_RIGHT), foot
    return table(HEADS, shown.cells(), right=RIGHT, caps=CAPS, width=width, spare=SPARE), foot


def _json(shown: QueueView, bastion: str) -> dict[str, object]:
    age = tick_age_s(shown.view.status, shown.view.now)
    seen = {"name": bastion, "last_tick_age_s": age}
    return {"schema": 1, "jobs": shown.rows(), "bastion": seen, **gap_lines.rows(shown.view.holes)}
