"""`bastion recover`: show what the journal has lost. If an admin asks for it, go on without the lost part."""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

from bastion.journal import lost_tail
from bastion.journal.lost_tail import LostTail
from bastion.model.errors import BastionError
from bastion.platform import host
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks

from ..common.bastion_alive import has_ended
from ..common.command_context import user_of
from ..common.place import check_admin, known_place_of
from ..options.bastion import RecoverOptions
from ..terminal.confirm import agree
from ..terminal.main import DONE, FAILED, Call
from ..terminal.table import plain
from .parts import heal_time

SHOWN = 200


def run(call: Call[RecoverOptions]) -> int:
    """Return 0 if nothing is lost, or if the loss was accepted."""
    if call.options.heal_time:
        return heal_time.run(call)
    place, tasks = known_place_of(call), ThreadTasks()
    with call.output.progress(f"reading the journal of bastion {place.name}"):
        found = lost_tail.survey(place.bucket, tasks.map)
    if found.is_nothing or not call.options.accept_loss:
        return _tell(call, place.name, found)
    if not has_ended(place):
        raise BastionError(f"bastion {place.name} may be running; stop it first: bastion stop")
    check_admin(place, user_of(call))
    lost_tail.check(found)
    if not call.output.json:
        call.output.say("\n".join(lines(place.name, found)))
    agree(call, f"continue without this, from journal object {found.seq} on?")
    number = lost_tail.accept(
        place.bucket, SystemClock(), RandomIds(), found, user=user_of(call), host=host.name(), pid=os.getpid()
    )
    if call.output.json:
        call.output.data({"schema": 1, "name": place.name, **rows(found), "accepted": True, "number": number})
    else:
        call.output.say(
            f"the loss is accepted; the journal continues from object {number}: start the bastion with bastion create"
        )
    return DONE


def _tell(call: Call[RecoverOptions], name: str, found: LostTail) -> int:
    if call.output.json:
        call.output.data({"schema": 1, "name": name, **rows(found), "accepted": False})
    elif found.is_nothing:
        call.output.say(f"nothing is lost: the journal of bastion {name} is whole up to object {found.state.seq - 1}")
    else:
        call.output.say("\n".join(lines(name, found)))
        call.output.say(
            "restore the missing journal objects from the store's versions or a backup, and start the bastion;\n"
            "or continue without what is lost: bastion recover --accept_loss"
        )
    return DONE if found.is_nothing else FAILED


def lines(name: str, found: LostTail) -> list[str]:
    """Return the lines for people."""
    seq = found.state.seq
    told = [f"bastion {name}: {f'the journal ends at object {seq - 1}' if seq else 'the journal is empty'}"]
    told += [f"problem  {problem}" for problem in found.problems]
    for job, order in islice(found.jobs.items(), SHOWN):
        whose = f"of {order.user} in {order.project}" if order else "of an unknown user (its order cannot be read)"
        told.append(f"lost     job {job} {whose}: the job is shown as rejected, and its machines are ended")
    for (job, task), count in islice(found.attempts.items(), SHOWN):
        told.append(
            f"lost     the result of attempt {count - 1} of {job}/{task}: its machines are ended, and the next attempt is {count}"
        )
    more = len(found.jobs) + len(found.attempts) - sum(min(len(each), SHOWN) for each in (found.jobs, found.attempts))
    told += [f"lost     and {more} more"] if more else []
    told.append("lost     every request, end and change of settings that only these objects held")
    return [plain(line) for line in told]


def rows(found: LostTail) -> dict[str, Any]:
    """Return the rows for scripts."""
    return {
        "ends": found.state.seq - 1,
        "problems": list(found.problems),
        "jobs": [
            {"id": job, "user": order.user if order else "", "project": order.project if order else ""}
            for job, order in found.jobs.items()
        ],
        "attempts": [{"job": job, "task": task, "attempts": count} for (job, task), count in found.attempts.items()],
    }
