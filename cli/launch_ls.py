"""`launch ls`: jobs, and why those wait that wait."""

from __future__ import annotations

from dataclasses import replace

from bastion.state import Job, JobState
from cli.desk import desk_of, user_of
from cli.main import DONE, Call
from cli.output import table
from launcher import gaps
from launcher.derive import derived
from launcher.queue import CAPS, HEADS, RIGHT, Queue, footer, queue
from launcher.view import tick_age_s


def run(call: Call) -> int:
    """Print the table, or its JSON."""
    desk, user, everything = desk_of(call), user_of(call), call.flags["all"]
    view = desk.reader(user=None if everything else user).look()
    shown = queue(view, {}, user=user, everything=everything)
    if any(isinstance(known, Job) and known.counts.get(JobState.PENDING) for known in shown.jobs):
        shown = replace(shown, reasons=derived(view))
    if call.output.json:
        call.output.data(_json(shown, desk.bastion))
    else:
        _print(call, shown, desk.bastion)
    return DONE


def _json(shown: Queue, bastion: str) -> dict[str, object]:
    age = tick_age_s(shown.view.status, shown.view.now)
    seen = {"name": bastion, "last_tick_age_s": age}
    return {"schema": 1, "jobs": shown.rows(), "bastion": seen, **gaps.rows(shown.view.holes)}


def _print(call: Call, shown: Queue, bastion: str) -> None:
    output = call.output
    if shown.jobs:
        heads, *lines = table(HEADS, shown.cells(), right=RIGHT, caps=CAPS, width=output.width)
        output.say("\n".join([output.bold(heads), *lines]))
    output.say("\n".join([*gaps.lines(shown.view.holes), footer(shown, bastion)]))
