"""`launch update`: change what a job asks for. A new command becomes its next attempt."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import Any

from bastion.launcher.read.job_lookup import FoundJob
from bastion.launcher.submit.build import command
from bastion.launcher.submit.provenance import provenance
from bastion.model.errors import SpecError, UsageError
from bastion.model.job.spec import BundleRef
from bastion.model.job.spec_changes import IN_PLACE, Changes, complaints, in_words
from bastion.model.state.state import AttemptState
from bastion.model.stored.requests import Update
from bastion.model.version import VERSION
from bastion.platform.shell import SystemShell

from ..common.bundler_settings import BundlerSettings, settings_of
from ..common.bundling import bundle, came_from, docker_repo_of, reference
from ..common.command_context import CommandContext
from ..common.job_requests import JobRequest
from ..common.spec_options import after_of, given
from ..options.launch import UpdateOptions
from ..options.shared import NONE
from ..terminal.main import Call

TAR = "tar"


def run(call: Call[UpdateOptions]) -> int:
    """Check, bundle the code of a new command, send the request, and print the consequence for attempts that run."""
    if not call.after and (call.options.bundler_type or call.options.bundler_spec):
        raise UsageError("code is bundled only for a new command; put the command after --")
    changed = call.options.fields(call.given).keys() & IN_PLACE
    if not changed and not call.after:
        raise UsageError("no change is given; use a flag such as --priority, or a new command after --")
    kind = call.options.bundler_type or TAR
    settings = settings_of(kind, call.options.bundler_spec, docker_repo_of(call, kind))
    asking = JobRequest.begin(call)
    found = asking.one()
    (job,) = found.jobs
    fields = _fields(call, asking.context, changed)
    if call.after:
        # The empty bundle is a placeholder: the request is checked before the code is packed.
        fields |= {"command": command(call.after, literal=call.options.literal), "bundle": BundleRef()}
    changes = Changes(**fields)
    if wrong := complaints(changes):
        raise SpecError("; ".join(wrong))
    if call.after:
        asking.check(
            [(job, Update(job=job.id, changes=changes))]
        )  # before the upload: a refused update must store nothing
        changes = Changes(**fields | _code(call, asking.context, settings))
    return asking.ask(found, lambda job: Update(job=job.id, changes=changes), lambda job: _told(job, changes))


def _fields(call: Call[UpdateOptions], context: CommandContext, changed: Collection[str]) -> dict[str, Any]:
    """Return the new values of these fields. Conditions and times may be `none`. Raises `UsageError`."""
    typed = given(call, context.clock.wall())
    fields = {name: typed[name] for name in changed}
    if "after" in fields:
        fields["after"] = [] if fields["after"] == [NONE] else after_of(context, fields["after"])
    return fields


def _code(call: Call[UpdateOptions], context: CommandContext, settings: BundlerSettings) -> dict[str, Any]:
    """Return the bundle of a new command, and its origin."""
    source = settings.get("source") or os.curdir
    packed = bundle(context.bucket, context.clock, call.output, settings, kept_days=context.settings.bundles_days)
    here = provenance(SystemShell(), source, host=os.uname().nodename, version=VERSION, now=context.clock.wall())
    return {"bundle": reference(packed), "provenance": came_from(packed, here)}


def _told(found: FoundJob, changes: Changes) -> str:
    told = f"{found.id}: {in_words(changes)}"
    live = [task.live for task in found.job.tasks.values() if task.live] if found.job else []
    if changes.renew and any(attempt.state is not AttemptState.STOPPING for attempt in live):
        told += (
            "; the running attempt gets SIGTERM and its grace, and the next one starts at once on the same resources. "
            "If it exits with code 0 before that, the job is done"
        )
    return told
