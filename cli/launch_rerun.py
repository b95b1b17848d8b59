"""`launch rerun`: a job once more, with the same code."""

from __future__ import annotations

import os
from typing import Any

from bastion.errors import BundleError, UsageError
from bastion.ports import Bucket
from bastion.requests import Submit, job_id
from bastion.spec import BundleRef, serialize_jobspec
from bastion.version import VERSION
from cli.desk import desk_of, job_of, user_of
from cli.launch_submit import check_follow, submitted
from cli.main import DONE, Call
from launcher import build
from launcher.durations import seconds
from launcher.find import Found
from launcher.rerun import again, came_from
from launcher.stored import needed_spec
from launcher.submit import check, ground, send
from quota.resources import Resources

_PLAIN: dict[str, str] = {
    "name": "name",
    "project_id": "project",
    "num_replicas": "replicas",
    "count": "count",
    "priority": "priority",
    "max_tries": "max_tries",
    "setup": "setup",
}
_TIMES = ("retry_interval", "grace", "time_limit")


def run(call: Call) -> int:
    """Submit the spec of a job again. With --wait or --follow, the exit code of its end."""
    desk, user = desk_of(call), user_of(call)
    found = _whole(job_of(call, desk.reader().look()))
    before = needed_spec(desk.bucket, found)
    known, request_id = ground(desk.bucket), desk.ids.new()
    spec = again(
        before,
        found.id,
        _said(call, known.pool),
        user=user,
        request_id=request_id,
        home=desk.bucket.url,
        origin=came_from(before, found.id, host=os.uname().nodename, version=VERSION, now=desk.clock.wall()),
    )
    check_follow(call, spec.count)
    check(spec, known)
    if call.flags["dry_run"]:
        call.output.say(serialize_jobspec(spec))
        return DONE
    check_code(desk.bucket, found.id, spec.bundle)
    send(desk.bucket, user=user, request_id=request_id, request=Submit(spec=spec))
    return submitted(call, desk, job_id(spec.name, request_id), spec)


def check_code(bucket: Bucket, job: str, bundle: BundleRef) -> None:
    """Raises `BundleError` if the bucket has the code no more; one list request."""
    if bundle.key and next(iter(bucket.list(bundle.key)), None) is None:
        raise BundleError(
            f"the code of {job} is gone: the bucket has removed {bundle.key}; launch it anew from its folder"
        )


def _whole(found: Found) -> Found:
    if found.task is not None:
        raise UsageError(f"a rerun repeats all of a job; name {found.name}, and --count=1 for one task")
    return found


def _said(call: Call, pool: Resources) -> dict[str, Any]:
    """What the flags say otherwise, by the fields of the spec. Raises `SpecError`, `UsageError`."""
    flags = call.flags
    said = {field: flags[flag] for flag, field in _PLAIN.items() if flags[flag] is not None}
    said |= {f"{name}_s": seconds(flags[name], f"--{name}") for name in _TIMES if flags[name] not in (None, "none")}
    if flags["time_limit"] == "none":
        said["time_limit_s"] = None
    if flags["output_dir"] is not None:
        said["output_dir"] = flags["output_dir"].rstrip("/")
    if flags["resources"] or flags["instance_type"]:
        wanted = build.amounts(flags["resources"], "--resources")
        said["instance_type"] = flags["instance_type"] or ""
        said["resources"] = build.demand(said["instance_type"], wanted, pool)
    if flags["env"]:
        said["env"] = build.environment(flags["env"])
    if call.after:
        said["command"] = build.command(call.after)
    return said
