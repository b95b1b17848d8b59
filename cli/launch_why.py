"""`launch why`: the reason, the attempts, the events."""

from __future__ import annotations

from bastion.recover import objects
from cli.desk import desk_of, job_of
from cli.main import DONE, Call
from launcher.derive import derived
from launcher.gpus import gpus
from launcher.history import history
from launcher.queue import Queue, sign_of_life


def run(call: Call) -> int:
    """Print the account of a job."""
    desk = desk_of(call)
    view = desk.reader().look()
    found = job_of(call, view)
    row = Queue(view, (), derived(view)).row(found.known)
    records = objects(desk.bucket, found.job.seq, desk.tasks.map) if found.job else ()
    events = list(history(records, found.id, found.task))
    seen = gpus(desk.bucket, desk.tasks, found.job, found.task) if found.job else []
    if call.output.json:
        told = {"events": [event.row() for event in events], "gpus": [gpu.row() for gpu in seen]}
        call.output.data({"schema": 1, "job": row, **told})
        return DONE
    reason = f": {row['reason']}" if row["reason"] else ""
    call.output.say(f"{found.id} of {found.user} is {row['state']}{reason}")
    lines = [*(event.line() for event in events), *(gpu.line() for gpu in seen)]
    call.output.say("\n".join([*(f"  {line}" for line in lines), f"bastion {desk.bastion}: {sign_of_life(view)}"]))
    return DONE
