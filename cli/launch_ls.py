"""`launch ls`: jobs, and why those wait that wait."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from textwrap import wrap

from cli.choosing import limit_of, named
from cli.desk import Desk, desk_of, user_of
from cli.formats import CSV, JSON, TABLE, WIDE, format_of
from cli.main import DONE, Call
from cli.output import Output
from cli.table import table
from launcher.columns import WIDE_HEADS, WIDE_RIGHT, csv_rows, wide_cells
from launcher.derive import derived
from launcher.queue import CAPS, HEADS, RIGHT, SPARE, Queue, footer, queue
from launcher.reader import Reader
from launcher.selection import LIVE, Filter
from launcher.view import View, tick_age_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to show: the jobs that are meant, the user's own first, at most `limit`, in this format."""

    bastion: str
    user: str
    meant: Filter
    limit: int | None
    form: str

    def reader(self, desk: Desk) -> Reader:
        """A reader that leaves other users' requests alone if it can."""
        users = self.meant.users or ()
        return desk.reader(user=next(iter(users)) if len(users) == 1 else None)

    def of(self, view: View) -> Queue:
        """The part of a view that was asked for."""
        return queue(view, derived(view), user=self.user, meant=self.meant, limit=self.limit)


def run(call: Call) -> int:
    """Print the jobs that are meant."""
    desk = desk_of(call)
    filters = named(call, desk.clock.wall())
    asked = _asked(call, desk, filters)
    view = asked.reader(desk).look()
    for line in filters.strangers(view):
        call.output.note(line)
    if asked.form == CSV:
        call.output.csv(list(csv_rows(asked.of(view))))
    else:
        call.output.say(text(asked.of(view), asked, call.output))
    return DONE


def text(shown: Queue, asked: Asked, output: Output) -> str:
    """The table with its footer, or its JSON."""
    if asked.form == JSON:
        return json.dumps(_json(shown, asked.bastion), ensure_ascii=False)
    found = lines(shown, asked, output.width)
    return "\n".join([output.bold(found[0]), *found[1:]] if shown.jobs else found)


def lines(shown: Queue, asked: Asked, width: int | None) -> list[str]:
    """The table, if there are jobs, and the footer."""
    last = wrap(footer(shown, asked.bastion), width or sys.maxsize)
    if not shown.jobs:
        return last
    if asked.form == WIDE:
        return [*table(WIDE_HEADS, wide_cells(shown), right=WIDE_RIGHT), *last]
    return [*table(HEADS, shown.cells(), right=RIGHT, caps=CAPS, width=width, spare=SPARE), *last]


def _asked(call: Call, desk: Desk, filters: Filter) -> Asked:
    """Mine that have not ended, unless the flags say more."""
    user = user_of(call)
    if not call.flags["all"]:
        filters = replace(filters, users=filters.users or frozenset({user}), states=filters.states or LIVE)
    form = format_of(call.flags, TABLE, WIDE, CSV, JSON)
    return Asked(bastion=desk.bastion, user=user, meant=filters, limit=limit_of(call), form=form)


def _json(shown: Queue, bastion: str) -> dict[str, object]:
    age = tick_age_s(shown.view.status, shown.view.now)
    return {"schema": 1, "jobs": shown.rows(), "bastion": {"name": bastion, "last_tick_age_s": age}}
