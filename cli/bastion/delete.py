"""`bastion delete`: end the jobs (with --force) and the loop. With --purge, remove the objects, too."""

from __future__ import annotations

from collections.abc import Callable

from bastion.journal import snapshot
from bastion.launcher.read.reader import BastionReader
from bastion.launcher.read.view import View
from bastion.launcher.submit.sending import send
from bastion.model.errors import BastionError
from bastion.model.interfaces import Bucket, Clock, Ids
from bastion.model.settings.config import Config
from bastion.model.stored.requests import Cancel
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks

from ..common.bastion_alive import has_ended, is_up
from ..common.command_context import user_of
from ..common.place import BastionPlace, check_admin, known_place_of, stored
from ..hosting import google_host, teardown, where
from ..options.bastion import DeleteOptions
from ..terminal.confirm import agree
from ..terminal.main import DONE, Call
from .create import store
from .parts.background import come_up
from .stop import LOOK_S, stop, unfinished

BATCH = 1000
ABANDONED_MAX = 200

PATIENCE_S = 10.0
NOTED_MAX = 20
"""Limits for printing a bastion's problems while its jobs do not end: the seconds before it, and the most problems."""


def run(call: Call[DeleteOptions]) -> int:
    """Return 0 when no job, no loop and no machine is left."""
    place, clock = known_place_of(call), SystemClock()
    if call.options.dry_run:
        teardown.rehearse(call, place, accounts=call.options.purge)
        return DONE
    config, reader = stored(place), BastionReader(place.bucket, clock, ThreadTasks())
    try:
        fleet = teardown.fleet_of(place, config, call.environ)
        teardown.machines(fleet)
    except BastionError as error:
        if not (call.options.force and call.options.abandon_machines):
            raise BastionError(
                f"{error}; to delete the bastion all the same, use --force --abandon_machines: its machines stay"
            ) from error
        return _abandon(call, place, reader.look(), clock)
    jobs = sorted(unfinished(reader.look()))
    _check(call, place, jobs, [] if jobs else teardown.machines(fleet))
    if jobs:
        if not is_up(place, clock):
            _start(call, place, clock)
        with call.output.progress(f"cancelling {len(jobs)} jobs"):
            cancel_all(place, reader, user_of(call), clock, RandomIds(), call.output.note)
    stop(place, clock)
    with call.output.progress("deleting machines"):
        teardown.sweep(fleet, clock)
    _leave(call, place, config, clock)
    if call.options.purge:
        purge(place.bucket)
    kept = "its objects are removed" if call.options.purge else f"its objects stay in {place.bucket.url}"
    if call.output.json:
        call.output.data({"name": place.name, "cancelled": jobs, "purged": call.options.purge})
    else:
        call.output.say(f"bastion {place.name} is deleted; {kept}")
    return DONE


def _abandon(call: Call[DeleteOptions], place: BastionPlace, view: View, clock: Clock) -> int:
    """Delete a bastion with a runner that is unreachable.

    Its machines and jobs are named and stay as they are. They are the admin's task from now on.
    """
    check_admin(place, user_of(call))
    live = view.state.live_attempts()
    left = [f"{key}: {worker.machine}" for key, _, attempt in live for worker in attempt.workers if worker.machine]
    jobs = sorted(unfinished(view))
    for line in [f"machine of {each}" for each in left[:ABANDONED_MAX]] + [
        f"job {job}" for job in jobs[:ABANDONED_MAX]
    ]:
        call.output.note(f"leaves {line}")
    agree(call, f"leave {len(left)} machines and {len(jobs)} jobs of bastion {place.name} as they are?")
    if call.options.purge:
        agree(call, f"remove everything below {place.bucket.url}, logs and outputs too?")
    stop(place, clock)
    if call.options.purge:
        purge(place.bucket)
    if call.output.json:
        call.output.data(
            {"name": place.name, "cancelled": [], "abandoned": left, "jobs": jobs, "purged": call.options.purge}
        )
    else:
        call.output.say(f"bastion {place.name} is deleted; stop its remaining machines and jobs by hand")
    return DONE


def _start(call: Call[DeleteOptions], place: BastionPlace, clock: Clock) -> None:
    """Start the bastion where it is hosted, so that it ends what it began."""
    if hosted := where.hosting(place):
        status = place.status()
        hosted.start()
        where.await_tick(place, hosted, clock, epoch=status.epoch if status else 0)
    else:
        come_up(place, call.environ, clock)


def _leave(call: Call[DeleteOptions], place: BastionPlace, config: Config, clock: Clock) -> None:
    """Delete the bastion's hosting, if it has one.

    With --purge, remove the accounts at Google that were made for it, too.
    """
    hosted = where.hosting(place)
    if hosted:
        with call.output.progress(f"deleting {hosted.name}"):
            hosted.delete()
    if call.options.purge and teardown.has_accounts(place, config):
        with call.output.progress("removing its accounts"):
            gone = teardown.close_accounts(google_host.door(config.google), place, config)
        call.output.note(f"removed: {'; '.join(gone) or 'nothing, its accounts were gone'}")
    if hosted and not call.options.purge:
        store(place.bucket, where.forget(place), user_of(call), clock.wall())


def _check(call: Call[DeleteOptions], place: BastionPlace, jobs: list[str], machines: list[str]) -> None:
    """Refuse what no flag allows, and ask before what cannot be undone."""
    jobs_left = f"bastion {place.name} has jobs that have not ended ({teardown.named(jobs)})"
    machines_left = f"bastion {place.name} has machines that are not gone ({teardown.named(machines)})"
    if jobs and not call.options.force:
        raise BastionError(f"{jobs_left}; wait for them with bastion stop --drain, or cancel them with --force")
    if machines and not call.options.force:
        raise BastionError(f"{machines_left}; wait until the bastion has deleted them, or delete them with --force")
    if jobs or machines:
        check_admin(place, user_of(call))
        agree(call, f"{jobs_left}; cancel them all?" if jobs else f"{machines_left}; delete them all?")
    if call.options.purge:
        agree(call, f"remove everything below {place.bucket.url}, logs and outputs too?")


def cancel_all(
    place: BastionPlace, reader: BastionReader, admin: str, clock: Clock, ids: Ids, note: Callable[[str], None]
) -> None:
    """Request the end of every job, also of jobs that are submitted meanwhile, and return when all have ended.

    After `PATIENCE_S` seconds, `note` gets each problem of the bastion once: it may be the reason. Raises
    `BastionError` if the bastion ends before the jobs.
    """
    asked: set[str] = set()
    noted: set[str] = set()
    due = clock.monotonic() + PATIENCE_S
    while left := unfinished(reader.look()):
        if clock.monotonic() >= due:
            for problem in _new_problems(place, noted):
                note(f"{len(left)} jobs have not ended; the bastion says: {problem}")
            due = clock.monotonic() + PATIENCE_S
        for job in left - asked:
            send(place.bucket, user=admin, request_id=ids.new(), request=Cancel(job=job))
        asked |= left
        if has_ended(place):
            raise BastionError(f"bastion {place.name} is stopped, and {len(left)} jobs have not ended; start it first")
        clock.sleep(LOOK_S)


def _new_problems(place: BastionPlace, noted: set[str]) -> list[str]:
    """Return the problems of the bastion that are not in `noted`, and add them there.

    `noted` gets at most `NOTED_MAX`.
    """
    status = place.status()
    new = [each for each in dict.fromkeys(status.problems if status else ()) if each not in noted]
    new = new[: NOTED_MAX - len(noted)]
    noted.update(new)
    return new


def purge(bucket: Bucket) -> None:
    """Remove every object of the bastion, except two small ones: they shut out a bastion that still sleeps."""
    kept = snapshot.end_for_good(bucket)
    keys = [stat.key for stat in bucket.list("") if stat.key not in kept]
    for start in range(0, len(keys), BATCH):
        bucket.delete(keys[start : start + BATCH])
