"""`launch update`: change what a job asks for. A new command becomes its next attempt."""

from __future__ import annotations

import os
from typing import Any

from bastion.launcher.durations import seconds
from bastion.launcher.read.job_lookup import FoundJob
from bastion.launcher.submit.build import command
from bastion.launcher.submit.provenance import provenance
from bastion.model.errors import SpecError, UsageError
from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import Changes, complaints, in_words
from bastion.model.state.state import AttemptState
from bastion.model.stored.requests import Update
from bastion.model.version import VERSION
from bastion.platform.shell import SystemShell

from ..common.bundler_settings import BundlerSettings, settings_of
from ..common.bundling import bundle, came_from, reference
from ..common.command_context import CommandContext, docker_repo_of
from ..common.job_requests import JobRequest
from ..common.spec_options import NONE, after_of, moment_of
from ..terminal.main import Call

TIMES = ("retry_interval", "grace", "time_limit", "finish_timeout")
MOMENTS = ("begin", "deadline")
PLAIN = {
    "priority": "priority",
    "max_tries": "max_tries",
    "crash_guard": "crash_guard",
    "max_parallel": "max_parallel",
    "class": "job_class",
    "max_tier": "max_tier",
}
"""Flags that set a field of the spec to their own value."""

TAR = "tar"


def run(call: Call) -> int:
    """Check, bundle the code of a new command, send the request, and print the consequence for attempts that run."""
    said = _said(call)
    kind_said = call.flags["bundler_type"] or TAR
    settings = settings_of(kind_said, call.flags["bundler_spec"], docker_repo_of(call, kind_said))
    asking = JobRequest.begin(call)
    found = asking.one()
    (job,) = found.jobs
    said |= _when(call, asking.desk)
    if call.after:
        # The empty bundle is a placeholder: the request is checked before the code is packed.
        said |= {"command": command(call.after, literal=call.flags["literal"]), "bundle": BundleRef()}
    changes = Changes(**said)
    if wrong := complaints(changes):
        raise SpecError("; ".join(wrong))
    if call.after:
        asking.check(
            [(job, Update(job=job.id, changes=changes))]
        )  # before the upload: a refused update must store nothing
        changes = Changes(**said | _code(call, asking.desk, settings))
    return asking.ask(found, lambda job: Update(job=job.id, changes=changes), lambda job: _told(job, changes))


def _said(call: Call) -> dict[str, Any]:
    """Return the changes of the flags, by the fields of the spec. Raises `UsageError`."""
    if not call.after and (call.flags["bundler_type"] or call.flags["bundler_spec"]):
        raise UsageError("code is bundled for a new command only; put it after --")
    said = {field: call.flags[flag] for flag, field in PLAIN.items() if call.flags[flag] is not None}
    for name in TIMES:
        text = call.flags[name]
        if text is not None:
            no_limit = name == "time_limit" and text == NONE
            said[f"{name}_s"] = None if no_limit else seconds(text, f"--{name}")
    if not said and not call.after and not call.flags["after"] and not any(call.flags[flag] for flag in MOMENTS):
        raise UsageError("nothing is to be changed; use --priority and its like, or a new command after --")
    return said


def _when(call: Call, desk: CommandContext) -> dict[str, Any]:
    """Return the changes of conditions and times. Each may be `none`."""
    flags = call.flags
    said: dict[str, Any] = {flag: moment_of(call, flag, desk.clock.wall()) for flag in MOMENTS if flags[flag]}
    if flags["after"]:
        said["after"] = [] if flags["after"] == [NONE] else after_of(desk, flags["after"])
    return said


def _code(call: Call, desk: CommandContext, settings: BundlerSettings) -> dict[str, Any]:
    """Return the bundle of a new command, and its origin."""
    source = settings.get("source") or os.curdir
    packed = bundle(desk.bucket, desk.clock, call.output, settings, kept_days=desk.settings.bundles_days)
    here = provenance(SystemShell(), source, host=os.uname().nodename, version=VERSION, now=desk.clock.wall())
    return {"bundle": reference(packed), "provenance": came_from(packed, here)}


def _told(found: FoundJob, changes: Changes) -> str:
    told = f"{found.id}: {in_words(changes)}"
    live = [task.live for task in found.job.tasks.values() if task.live] if found.job else []
    if changes.renew and any(attempt.state is not AttemptState.STOPPING for attempt in live):
        told += (
            "; what runs gets SIGTERM and its grace, and the next attempt begins at once on what it held. "
            "Should it end with exit code 0 before that, the job is done"
        )
    return told
