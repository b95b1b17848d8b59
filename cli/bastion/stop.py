"""`bastion stop`: end the loop. Jobs keep running."""

from __future__ import annotations

from bastion.journal.control import why_paused
from bastion.launcher.read.reader import BastionReader
from bastion.launcher.read.view import View
from bastion.model.errors import BastionError
from bastion.model.interfaces import Clock
from bastion.platform import host
from bastion.platform.system import SystemClock, ThreadTasks

from ..common.bastion_alive import has_ended
from ..common.place import BastionPlace, known_place_of
from ..hosting.where import hosting, rehearsed
from ..options.bastion import StopOptions
from ..terminal.main import DONE, Call

STOP_S = 60.0
LOOK_S = 0.05
DRAIN_LOOK_S = 0.5


def run(call: Call[StopOptions]) -> int:
    """Return 0 when the loop has ended, or had ended before."""
    place = known_place_of(call)
    if call.options.dry_run:
        rehearsed(call, place).stop()
        return DONE
    clock = SystemClock()
    if call.options.drain:
        with call.output.progress(f"waiting for the jobs of bastion {place.name} to end"):
            drain(place, BastionReader(place.bucket, clock, ThreadTasks()), clock)
    was_up = stop(place, clock)
    if call.output.json:
        call.output.data({"name": place.name, "state": "stopped"})
    else:
        call.output.say(f"bastion {place.name} {'is stopped' if was_up else 'was already stopped'}")
    return DONE


def stop(place: BastionPlace, clock: Clock) -> bool:
    """End the loop, and wait for its end. Return True if it ran.

    Raises `BastionError` if it runs on another machine, or does not end within `STOP_S` seconds.
    """
    if hosted := hosting(place):
        return hosted.stop()
    status = place.status()
    if status is None or has_ended(place):
        return False
    where = f"bastion {place.name} (pid {status.pid})"
    if not host.is_here(status):
        raise BastionError(f"{where} runs on {status.host}; run bastion stop there")
    host.terminate(status)
    deadline = clock.monotonic() + STOP_S
    while host.runs_here(status) or not has_ended(place):
        if clock.monotonic() > deadline:
            raise BastionError(f"{where} has not ended {STOP_S:.0f} s after SIGTERM; see bastion logs")
        clock.sleep(LOOK_S)
    return True


def drain(place: BastionPlace, reader: BastionReader, clock: Clock) -> None:
    """Return when all jobs of this moment have ended.

    Raises `BastionError` if the bastion is paused or ends before them.
    """
    jobs = unfinished(reader.look())
    while left := jobs & unfinished(view := reader.look()):
        if view.state.paused and left & view.state.pending.keys():
            raise BastionError(
                f"bastion {place.name} is {why_paused(view.state)}, so pending jobs never end; run bastion resume first"
            )
        if has_ended(place):
            raise BastionError(f"bastion {place.name} is stopped, and {len(left)} jobs have not ended; start it first")
        clock.sleep(DRAIN_LOOK_S)


def unfinished(view: View) -> set[str]:
    """Return the ids of all jobs that have not ended, unread ones too."""
    return {job.id for job in view.state.jobs.values() if job.ended is None} | {unread.id for unread in view.unread}
