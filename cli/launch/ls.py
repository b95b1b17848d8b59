"""`launch ls`: list jobs, with the reasons of those that wait."""

from __future__ import annotations

from dataclasses import replace

from bastion.launcher.read.columns import csv_rows
from bastion.launcher.read.job_selection import LIVE, Filter, filter_of
from bastion.model.errors import UsageError

from ..common.command_context import desk_of, user_of
from ..options.launch import LsOptions
from ..options.shared import FilterOptions
from ..terminal.formats import CSV, JSON, TABLE, WIDE, format_of
from ..terminal.main import DONE, Call
from .parts import job_names
from .parts.job_table import TableOptions, text
from .watch import interval, looks, watch


def run(call: Call[LsOptions]) -> int:
    """Print the selected jobs, once or repeatedly."""
    every_s = interval(call.options.watch)
    desk = desk_of(call)
    filters = filter_of(call.options.of(FilterOptions), desk.clock.wall())
    asked = _asked(call, desk.bastion, filters)
    if every_s and asked.form == CSV:
        raise UsageError("--watch goes with tables and json; leave out --watch or --output=csv")
    reader = asked.reader(desk)
    view = reader.look()
    job_names.seen(call, desk, view)
    for line in filters.strangers(view):
        call.output.note(line)
    if every_s:
        watch(call.output, asked, looks(view, reader, desk.clock, every_s))
    elif asked.form == CSV:
        call.output.csv(list(csv_rows(asked.of(view))))
    else:
        call.output.say(text(asked.of(view), asked, call.output))
    return DONE


def _asked(call: Call[LsOptions], bastion: str, filters: Filter) -> TableOptions:
    """Return the options of the table: the user's own jobs that have not ended, unless the flags select others."""
    user = user_of(call)
    if not call.options.all:
        filters = replace(filters, users=filters.users or frozenset({user}), states=filters.states or LIVE)
    form = format_of(call.options.output, call.options.json, TABLE, WIDE, CSV, JSON)
    return TableOptions(bastion=bastion, user=user, meant=filters, limit=call.options.limit, form=form)
