"""`launch -- COMMAND`: check, bundle, put the request where the bastion looks."""

from __future__ import annotations

import json
import os

import msgspec

from bastion.errors import UsageError
from bastion.requests import Submit, job_id
from bastion.shell import SystemShell
from bastion.spec import BundleRef, JobSpec, serialize_jobspec
from bastion.version import VERSION
from cli.bundling import bundle, came_from, reference, settings_of
from cli.desk import Desk, desk_of, user_of
from cli.launch_logs import detachable, show_log
from cli.launch_wait import until_end
from cli.main import DONE, Call
from launcher import build
from launcher.durations import seconds
from launcher.find import find
from launcher.provenance import provenance
from launcher.streams import Choice
from launcher.submit import check, ground, send


def run(call: Call) -> int:
    """Submit a job. With --wait or --follow, the exit code of its end."""
    wish = _wish(call)
    kind = call.flags["bundler_type"]
    settings = settings_of(kind, call.flags["bundler_spec"])
    desk = desk_of(call)
    request_id = desk.ids.new()
    spec = _spec(desk, wish, request_id, settings.get("source") or os.curdir)
    if call.flags["dry_run"]:
        call.output.say(serialize_jobspec(spec))
        return DONE
    packed = bundle(desk.bucket, desk.clock, call.output, kind=kind, settings=settings)
    spec = msgspec.structs.replace(spec, bundle=reference(packed), provenance=came_from(packed, spec.provenance))
    send(desk.bucket, user=spec.user, request_id=request_id, request=Submit(spec=spec))
    return submitted(call, desk, job_id(spec.name, request_id), spec)


def _wish(call: Call) -> build.Wish:
    flags = call.flags
    if not call.after:
        raise UsageError("there is no command; put it after --, as in launch [flags] -- python train.py")
    check_follow(call, flags["count"])
    return build.Wish(
        user=user_of(call),
        command=call.after,
        name=flags["name"] or "",
        project=flags["project_id"] or "",
        env=build.environment(flags["env"]),
        resources=build.amounts(flags["resources"], "--resources"),
        instance_type=flags["instance_type"] or "",
        replicas=flags["num_replicas"],
        count=flags["count"],
        priority=flags["priority"],
        max_tries=flags["max_tries"],
        retry_interval_s=seconds(flags["retry_interval"], "--retry_interval"),
        grace_s=seconds(flags["grace"], "--grace"),
        time_limit_s=seconds(flags["time_limit"], "--time_limit") if flags["time_limit"] else None,
        output_dir=flags["output_dir"] or "",
        setup=flags["setup"] or "",
    )


def check_follow(call: Call, count: int) -> None:
    """Raises `UsageError` if --follow was said of an array."""
    if call.flags["follow"] and count > 1:
        raise UsageError(f"--follow shows one task, and there are {count}; use --wait, and launch logs 'NAME[0]'")


def _spec(desk: Desk, wish: build.Wish, request_id: str, source: str) -> JobSpec:
    """The checked spec, still without its bundle: nothing is written before the checks have passed."""
    known = ground(desk.bucket)
    spec = build.build(
        wish,
        quota=known.quota,
        pool=known.pool,
        request_id=request_id,
        home=desk.bucket.url,
        bundle=BundleRef(),
        provenance=provenance(SystemShell(), source, host=os.uname().nodename, version=VERSION, now=desk.clock.wall()),
    )
    check(spec, known)
    return spec


def submitted(call: Call, desk: Desk, job: str, spec: JobSpec) -> int:
    """Say what was submitted; on demand, see it through."""
    output = call.output
    output.note(f"submitted {job}; see launch logs {job}, launch why {job}")
    if call.flags["follow"] or call.flags["wait"]:
        found = find(job, desk.reader().look())
        with detachable(output, name=job):
            code = show_log(call, desk, found, Choice()) if call.flags["follow"] else until_end(desk, found, output)
    else:
        code = DONE
    output.say(json.dumps({"id": job, "name": spec.name}) if output.json else spec.name)
    return code
