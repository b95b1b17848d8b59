"""`launch stop`: ask for a job's end."""

from __future__ import annotations

from bastion.errors import Forbidden
from bastion.plan import inputs
from bastion.requests import Cancel
from cli.desk import desk_of, job_of, user_of
from cli.launch_wait import until_end
from cli.main import DONE, Call
from launcher import ends
from launcher.submit import send


def run(call: Call) -> int:
    """Ask, unless it has ended; with --wait, return at its end, which is what was asked for."""
    desk, user = desk_of(call), user_of(call)
    view = desk.reader().look()
    found = job_of(call, desk, view)
    if found.user != user and user not in inputs(view.state).config.admins:
        raise Forbidden(f"job {found.id} is {found.user}'s; ask them, or an admin")
    if found.job and ends.ended(found.job, found.task):
        call.output.note(f"{found.name} has ended already")
    else:
        send(desk.bucket, user=user, request_id=desk.ids.new(), request=Cancel(job=found.id, task=found.task))
        if call.flags["wait"]:
            until_end(desk, found, call.output)
    if call.output.json:
        call.output.data({"id": found.id, "name": found.name})
    else:
        call.output.say(found.name)
    return DONE
