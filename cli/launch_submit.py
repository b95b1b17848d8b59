"""`launch -- COMMAND`: check, bundle, put the request where the bastion looks."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import msgspec

from bastion import layout
from bastion.buckets.routed import url_of
from bastion.errors import UsageError
from bastion.requests import Submit, job_id
from bastion.shell import SystemShell
from bastion.spec import BundleRef, JobSpec
from bastion.version import VERSION
from cli import job_names
from cli.bundling import bundle, came_from, reference, settings_of
from cli.desk import Desk, desk_of, user_of
from cli.launch_logs import detachable, show_log
from cli.launch_wait import until_end
from cli.main import DONE, Call
from cli.profile import setting_of
from cli.spec_file import bundler_of, spec_file, spec_text
from cli.wiring import check_scheme
from launcher import build
from launcher.durations import seconds
from launcher.find import find
from launcher.provenance import provenance
from launcher.specfile import Fields
from launcher.streams import Choice
from launcher.submit import check, ground, send


def run(call: Call) -> int:
    """Submit a job. With --wait or --follow, the exit code of its end."""
    settings = settings_of(call.flags["bundler_type"], call.flags["bundler_spec"])
    if not call.after and not call.flags["spec"]:
        raise UsageError("there is no command; put it after --, as in launch [flags] -- python train.py")
    desk = desk_of(call)
    request_id = desk.ids.new()
    said = spec_file(call, desk.bucket.url)
    wish = wish_of(call, said)
    dry = call.flags["dry_run"]
    spec = checked_spec(
        desk,
        wish,
        request_id,
        settings.get("source") or os.curdir,
        home="" if dry else url_of(desk.bucket, layout.OUTPUTS),
    )
    kind = bundler_of(call, said)
    if kind is None:
        spec = msgspec.structs.replace(spec, bundle=said["bundle"])
    if dry:
        call.output.say(spec_text(spec, kind))
        return DONE
    if kind is not None:
        packed = bundle(desk.bucket, desk.clock, call.output, kind=kind, settings=settings, kept_days=desk.bundles_days)
        spec = msgspec.structs.replace(spec, bundle=reference(packed), provenance=came_from(packed, spec.provenance))
    send(desk.bucket, user=spec.user, request_id=request_id, request=Submit(spec=spec))
    return submitted(call, desk, job_id(spec.name, request_id), spec)


def wish_of(call: Call, said: Fields) -> build.Wish:
    """What the flags say, and a file where they say nothing."""
    flags = call.flags

    def told(flag: str, field: str, value: Callable[[], Any]) -> Any:
        return said[field] if field in said and flag not in call.given else value()

    def length(flag: str) -> Any:
        return told(flag, f"{flag}_s", lambda: seconds(flags[flag], f"--{flag}"))

    def limit() -> float | None:
        text = flags["time_limit"]
        return None if text in (None, "none") else seconds(text, "--time_limit")

    wish = build.Wish(
        user=told("user_id", "user", lambda: user_of(call)),
        command=build.command(call.after) if call.after else said["command"],
        name=told("name", "name", lambda: flags["name"] or ""),
        project=told("project_id", "project", lambda: _project(call)),
        env={**said.get("env", {}), **build.environment(flags["env"])},
        resources=told("resources", "resources", lambda: build.amounts(flags["resources"], "--resources")),
        instance_type=told("instance_type", "instance_type", lambda: flags["instance_type"] or ""),
        replicas=told("num_replicas", "replicas", lambda: flags["num_replicas"]),
        count=told("count", "count", lambda: flags["count"]),
        priority=told("priority", "priority", lambda: flags["priority"]),
        max_tries=told("max_tries", "max_tries", lambda: flags["max_tries"]),
        retry_interval_s=length("retry_interval"),
        grace_s=length("grace"),
        time_limit_s=told("time_limit", "time_limit_s", limit),
        output_dir=told("output_dir", "output_dir", lambda: flags["output_dir"] or ""),
        checkpoint_dir=told("output_dir", "checkpoint_dir", lambda: ""),
        setup=told("setup", "setup", lambda: flags["setup"] or ""),
    )
    if flags["follow"] and wish.count > 1:
        raise UsageError(f"--follow shows one task, and there are {wish.count}; use --wait, and launch logs 'NAME[0]'")
    return wish


def _project(call: Call) -> str:
    """What flag, environment or profile say of it."""
    found = setting_of(call, "project_id")
    return found.value if found else ""


def checked_spec(desk: Desk, wish: build.Wish, request_id: str, source: str, *, home: str) -> JobSpec:
    """The checked spec, still without its bundle: nothing is written before the checks have passed."""
    known = ground(desk.bucket)
    spec = build.build(
        wish,
        quota=known.quota,
        pool=known.pool,
        request_id=request_id,
        home=home,
        bundle=BundleRef(),
        provenance=provenance(SystemShell(), source, host=os.uname().nodename, version=VERSION, now=desk.clock.wall()),
    )
    for url in filter(None, (spec.output_dir, spec.checkpoint_dir)):
        if "://" in url:
            check_scheme(url, "--output_dir")
    check(spec, known)
    return spec


def submitted(call: Call, desk: Desk, job: str, spec: JobSpec) -> int:
    """Say what was submitted; on demand, see it through."""
    output = call.output
    job_names.submitted(call, desk, spec.name)
    output.note(f"submitted {job}; see launch logs {job}, launch why {job}")
    if call.flags["follow"] or call.flags["wait"]:
        found = find(job, desk.reader().look())
        with detachable(output, name=job):
            code = show_log(call, desk, found, Choice()) if call.flags["follow"] else until_end(desk, found, output)
    else:
        code = DONE
    output.say(json.dumps({"id": job, "name": spec.name}) if output.json else spec.name)
    return code
