"""`launch stop`: ask for a job's end."""

from __future__ import annotations

from bastion.requests import Cancel
from cli.asking import answer, check, send_all
from cli.desk import desk_of, job_of, user_of
from cli.launch_wait import until_end
from cli.main import DONE, Call
from launcher import ends


def run(call: Call) -> int:
    """Ask, unless it has ended; with --wait, return at its end, which is what was asked for."""
    desk, user = desk_of(call), user_of(call)
    view = desk.reader().look()
    found = job_of(call, view)
    asked = [(found, Cancel(job=found.id, task=found.task))]
    check(user, view, asked)
    if found.job and ends.ended(found.job, found.task):
        call.output.note(f"{found.name} has ended already")
    else:
        send_all(desk, user, asked)
        if call.flags["wait"]:
            until_end(desk, found, call.output)
    answer(call, [found])
    return DONE
