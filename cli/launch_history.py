"""`launch history`: every event of a job, one line each."""

from __future__ import annotations

from bastion.holes import Holes
from cli.desk import desk_of, job_of
from cli.main import DONE, Call
from cli.table import table
from launcher import gaps
from launcher.history import HEADS, history
from launcher.queue import sign_of_life
from launcher.recall import records
from launcher.view import not_read_yet, tick_age_s


def run(call: Call) -> int:
    """Print the events, from the journal alone."""
    desk = desk_of(call)
    view = desk.reader().look()
    found = job_of(call, desk, view)
    holes = Holes(list(view.holes))
    events = list(history(records(desk.bucket, desk.tasks, view, found, holes), found.id, found.task))
    if call.output.json:
        bastion = {"name": desk.bastion, "last_tick_age_s": tick_age_s(view.status, view.now)}
        rows = [event.row() for event in events]
        call.output.data({"schema": 1, "id": found.id, "events": rows, "bastion": bastion, **gaps.rows(holes.found)})
        return DONE
    heads, *lines = table(HEADS, [event.cells() for event in events], width=call.output.width)
    lines += [] if found.job else [f"{found.id} is {not_read_yet(view.status, view.now)}"]
    foot = f"bastion {desk.bastion}: {sign_of_life(view)}."
    call.output.say("\n".join([call.output.bold(heads), *lines, *gaps.lines(holes.found), foot]))
    return DONE
