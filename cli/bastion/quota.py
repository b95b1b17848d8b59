"""`bastion quota`: show, check, try, set and edit the quota file, and show the usage."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from bastion.journal import recover
from bastion.launcher.submit.sending import send
from bastion.model.errors import Forbidden
from bastion.model.state.state import Job
from bastion.model.stored.requests import Cancel
from bastion.model.wording import listed
from bastion.platform.system import RandomIds
from bastion.quota.quota import Quota
from bastion.quota.quota_changes import warnings
from bastion.schedule.permissions import stranger
from bastion.schedule.plan import inputs
from bastion.schedule.quota_impact import left
from bastion.schedule.usage import usage

from ..common import admin_file
from ..common.command_context import user_of
from ..common.place import BastionPlace, is_known, known_place_of, place_of, unknown
from ..options.bastion import QuotaOptions
from ..terminal.confirm import agree
from ..terminal.main import DONE, Call
from .parts import quota_simulate
from .parts.admin_file_history import history
from .parts.quota_edit import QUOTA_FILE, load
from .status import usage_table

SHOWN = 5


def run(call: Call[QuotaOptions]) -> int:
    """Do the action of the first word."""
    action, *rest = call.words
    if action == "show":
        return show(call)
    if action == "edit":
        return admin_file.edit(call, QUOTA_FILE)
    if action == "history":
        return history(call, QUOTA_FILE)
    named = {"check": check, "set": put, "simulate": quota_simulate.run}
    return named[action](call, Path(rest[0]))


def show(call: Call[QuotaOptions]) -> int:
    """Print the stored file, and the usage of each project."""
    place = known_place_of(call)
    held = admin_file.read(place.bucket, QUOTA_FILE)
    quota, problem = QUOTA_FILE.lenient(held.text)
    uses = usage(recover.load(place.bucket), quota)
    by, at = (held.byline.user, held.byline.at) if held.byline else (None, None)
    if call.output.json:
        rows = [asdict(use) for use in uses]
        found = {"text": held.text, "version": held.version, "by": by, "at": at, "problem": problem, "usage": rows}
        call.output.data({"schema": 1, **found})
        return DONE
    call.output.file(held.text.rstrip() or "there is no quota file: everybody may use everything")
    if by:
        call.output.note(f"put there by {by} at {at}")
    if problem:
        call.output.note(f"the file is broken, the last good one stays in force: {problem}")
    call.output.say("\n".join(usage_table(uses)))
    return DONE


def check(call: Call[QuotaOptions], path: Path) -> int:
    """Print everything that is wrong or odd in a file. This writes nothing and needs no bucket."""
    _, quota = load(path)
    odd = warnings(quota)
    if call.output.json:
        call.output.data({"schema": 1, "file": str(path), "warnings": odd})
        return DONE
    for line in odd:
        call.output.note(f"warning: {line}")
    call.output.say(
        f"{path} can be used: {len(quota.members)} projects, {sum(map(len, quota.members.values()))} members, "
        f"{sum(map(len, quota.admins.values()))} project admins, {sum(map(len, quota.classes.values()))} granted classes, "
        f"{sum(map(len, quota.user_limits.values()))} user limits"
    )
    return DONE


def put(call: Call[QuotaOptions], path: Path) -> int:
    """Check the file, show the changes, ask, and replace the stored file if it is still the one that was read."""
    place = place_of(call)
    text, quota = load(path)
    held = admin_file.read(place.bucket, QUOTA_FILE)
    if not is_known(place):
        call.output.note(f"warning: {unknown(place)}")
    stopped = _to_stop(call, place, quota) if call.options.stop_affected else []
    code = admin_file.put(call, place, QUOTA_FILE, held, text)
    for job in stopped:
        send(place.bucket, user=user_of(call), request_id=RandomIds().new(), request=Cancel(job=job.id))
        call.output.note(f"requested a stop of {job.id}: user {job.user} is no member of {job.project}")
    return code


def _to_stop(call: Call[QuotaOptions], place: BastionPlace, quota: Quota) -> list[Job]:
    """Return the jobs of users who are not members under this quota, after the user has agreed to stop them.

    Raises `Forbidden` if the user may not stop one of them.
    """
    state = recover.load(place.bucket)
    jobs = left(state, quota)
    strange = (stranger(Cancel(job=job.id), user_of(call), job, inputs(state)) for job in jobs)
    if wrong := next(filter(None, strange), ""):
        raise Forbidden(wrong)
    if jobs:
        whose = listed([f"{job.id} of {job.user}" for job in jobs[:SHOWN]])
        more = f" and {len(jobs) - SHOWN} more" if len(jobs) > SHOWN else ""
        agree(call, f"the users of {whose}{more} are no longer members of their projects; stop these jobs?")
    return jobs
