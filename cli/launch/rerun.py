"""`launch rerun` and `launch requeue`: submit a job again, with the same code.

The new job starts from zero, or from the checkpoint of the old one.
"""

from __future__ import annotations

import os

import msgspec

from bastion.bundler.content_upload import upload
from bastion.launcher.read.stored_spec import needed_spec
from bastion.launcher.submit.sending import send
from bastion.launcher.submit.spec_file import fields_again
from bastion.model import layout
from bastion.model.errors import BundleError, ObjectNotFound, UsageError
from bastion.model.job.spec import BundleRef, JobSpec, serialize_jobspec
from bastion.model.layout import job_id
from bastion.model.stored.requests import Submit
from bastion.stores.routed import url_of

from ..common.bundling import DAY_S
from ..common.command_context import CommandContext, context_of
from ..common.job_choice import job_of
from ..common.preview import preview
from ..common.spec_options import fields_of
from ..options.launch import RerunOptions
from ..terminal.main import DONE, Call
from .parts.output_folders import resumed
from .submit import checked_spec, command_of, from_this_shell, submitted, warn


def run(call: Call[RerunOptions]) -> int:
    """Submit the spec of a job again. With --wait or --follow, return the exit code of its end."""
    context = context_of(call)
    found = job_of(call, context, context.reader().look())
    if found.task is not None:
        raise UsageError(f"a rerun repeats all of a job; name {found.name}, and --count=1 for one task")
    before = needed_spec(context.bucket, context.tasks, found)
    request_id = context.ids.new()
    home = url_of(context.bucket, layout.OUTPUTS)
    fields = fields_again(before, home)
    if call.options.resume:
        fields = {**fields, **resumed(call, context, found, before, home)}
    fields = fields_of(call, fields, context.clock.wall()) | command_of(call)
    spec = _child(checked_spec(call, context, fields, request_id, os.curdir, home=home), before, found.id)
    warn(call, spec)
    if call.options.dry_run:
        call.output.say(serialize_jobspec(spec))
        preview(call, job_id(spec.name, request_id), spec)
        return DONE
    _keep_code(context, found.id, spec.bundle)
    spec = from_this_shell(call, context, spec)
    send(context.bucket, user=spec.user, request_id=request_id, request=Submit(spec=spec))
    return submitted(call, context, job_id(spec.name, request_id), spec)


def _child(spec: JobSpec, before: JobSpec, parent: str) -> JobSpec:
    """Return the spec with the code of the repeated job, and the origin of that code."""
    code = before.provenance
    origin = msgspec.structs.replace(
        spec.provenance, git_commit=code.git_commit, git_dirty=code.git_dirty, parent=parent
    )
    return msgspec.structs.replace(spec, bundle=before.bundle, provenance=origin)


def _keep_code(context: CommandContext, job: str, bundle: BundleRef) -> None:
    """Make the code outlive the new job, too: upload it again if the bucket would remove it soon.

    This costs one list request.

    Raises `BundleError` if the bucket does not have it any more.
    """
    if not bundle.key:
        return
    bucket, kept_s = context.bucket, context.settings.bundles_days * DAY_S or None
    try:
        upload(bucket, context.clock, bundle.key, lambda: bucket.read(bundle.key).data, retention_s=kept_s)
    except ObjectNotFound:
        raise BundleError(
            f"the code of {job} is gone: the bucket has removed {bundle.key}; launch the job again from its folder"
        ) from None
