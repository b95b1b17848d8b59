"""`launch history`: print every event of a job, one line each."""

from __future__ import annotations

from bastion.launcher.history.job_history import HEADS, history
from bastion.launcher.read.job_rows import gap_lines, gap_rows, sign_of_life
from bastion.launcher.read.past_jobs import records
from bastion.launcher.read.view import not_read_yet, tick_age_s
from bastion.model.stored.journal_object import Gaps

from ..common.command_context import context_of
from ..common.job_choice import job_of
from ..options.launch import TaskOptions
from ..terminal.main import DONE, Call
from ..terminal.table import table


def run(call: Call[TaskOptions]) -> int:
    """Print the events, from the journal alone."""
    context = context_of(call)
    view = context.reader().look()
    found = job_of(call, context, view)
    gaps = Gaps(list(view.gaps))
    events = list(history(records(context.bucket, context.tasks, view, found, gaps), found.id, found.task))
    if call.output.json:
        bastion = {"name": context.bastion, "last_tick_age_s": tick_age_s(view.status, view.now)}
        rows = [event.row() for event in events]
        call.output.data({"schema": 1, "id": found.id, "events": rows, "bastion": bastion, **gap_rows(gaps.found)})
        return DONE
    heads, *lines = table(HEADS, [event.cells() for event in events], width=call.output.width)
    lines += [] if found.job else [f"{found.id} is {not_read_yet(view.status, view.now)}"]
    foot = f"bastion {context.bastion}: {sign_of_life(view)}."
    call.output.say("\n".join([call.output.bold(heads), *lines, *gap_lines(gaps.found), foot]))
    return DONE
