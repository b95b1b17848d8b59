"""`launch -- COMMAND`: check the job, bundle the code, and store the request for the bastion."""

from __future__ import annotations

import json
import os
from typing import Any

import msgspec

from bastion.journal import leadership
from bastion.launcher.logs.log_lines import LogSelection
from bastion.launcher.read.job_lookup import find
from bastion.launcher.submit import build
from bastion.launcher.submit.credentials import warnings
from bastion.launcher.submit.provenance import provenance, session
from bastion.launcher.submit.sending import check, doubts, send, submit_context
from bastion.launcher.submit.spec_file import Fields
from bastion.launcher.submit.start_after import when
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import UsageError
from bastion.model.job.spec import BundleRef, JobSpec
from bastion.model.layout import job_id
from bastion.model.stored.requests import Submit
from bastion.model.version import VERSION
from bastion.platform import host
from bastion.platform.shell import SystemShell
from bastion.stores.opening import check_scheme
from bastion.stores.routed import url_of

from ..common.bundler_settings import BundlerSettings, check_setup, settings_of
from ..common.bundling import bundle, came_from, docker_repo_of, reference
from ..common.command_context import CommandContext, check_user, context_of
from ..common.preview import preview
from ..common.spec_options import after_of, fields_of
from ..options.shared import JobOptions, RequestOptions, SubmitOptions
from ..terminal.flags import Options
from ..terminal.main import DONE, Call
from .logs import detachable, show_log
from .parts import job_names
from .parts.output_folders import check_shape
from .parts.spec_from_file import bundler_of, spec_file, spec_text
from .wait import until_end


def run(call: Call[SubmitOptions]) -> int:
    """Submit a job. With --wait or --follow, return the exit code of its end."""
    kind_said = call.options.bundler_type
    settings = settings_of(kind_said, call.options.bundler_spec, docker_repo_of(call, kind_said))
    if not call.after and not call.options.spec:
        raise UsageError("there is no command; put it after --, as in launch [flags] -- python train.py")
    context = context_of(call)
    request_id = context.ids.new()
    file = spec_file(call, context.bucket.url)
    fields = fields_of(call, file, context.clock.wall(), default_shell=context.settings.default_shell) | command_of(
        call
    )
    dry = call.options.dry_run
    spec = checked_spec(
        call,
        context,
        fields,
        request_id,
        settings.get("source") or os.curdir,
        home="" if dry else url_of(context.bucket, layout.OUTPUTS),
    )
    warn(call, spec)
    kind = bundler_of(call, file)
    check_setup(kind, spec.setup)
    if kind is None:
        spec = msgspec.structs.replace(spec, bundle=file["bundle"])
    if call.options.request:
        return _show_request(call, spec, request_id, kind)
    if dry:
        call.output.say(spec_text(spec, kind))
        preview(call, job_id(spec.name, request_id), spec, settings)
        return DONE
    if kind is not None:
        spec = coded(call, context, spec, settings if kind == settings.kind else settings_of(kind, ()))
    spec = from_this_shell(call, context, spec)
    send(context.bucket, user=spec.user, request_id=request_id, request=Submit(spec=spec))
    return submitted(call, context, job_id(spec.name, request_id), spec)


def command_of(call: Call[JobOptions]) -> dict[str, Any]:
    """Return the command of the command line, as a field of the spec; nothing without one. Raises `UsageError`."""
    return {"command": build.command(call.after, literal=call.options.literal)} if call.after else {}


def _show_request(call: Call[SubmitOptions], spec: JobSpec, request_id: str, kind: str | None) -> int:
    """Print the bytes of the request, and name their key.

    Raises `UsageError` if the code would have to be stored first.
    """
    if not call.options.dry_run:
        raise UsageError("--request goes with --dry_run; without it, launch stores the request itself")
    if kind not in (None, "none"):
        raise UsageError(
            f"--request stores nothing, and the code of --bundler_type={kind} would have to be stored first; use "
            "--bundler_type=none, or --spec with the bundle that `launch bundle` prints"
        )
    call.output.say(encode(Submit(spec=spec)).decode())
    call.output.note(
        f"store it as {layout.request(spec.user, request_id)}; the job is then {job_id(spec.name, request_id)}"
    )
    return DONE


def coded(call: Call[Options], context: CommandContext, spec: JobSpec, settings: BundlerSettings) -> JobSpec:
    """Bundle the code, and return the spec with the bundle and its origin."""
    packed = bundle(
        context.bucket, context.clock, call.output, settings, kept_days=context.settings.bundles_days, later=True
    )
    return msgspec.structs.replace(spec, bundle=reference(packed), provenance=came_from(packed, spec.provenance))


def checked_spec(
    call: Call[RequestOptions], context: CommandContext, fields: Fields, request_id: str, source: str, *, home: str
) -> JobSpec:
    """Return the checked spec, still without its bundle: nothing is written before the checks have passed."""
    known = submit_context(context.bucket, context.settings)
    spec = build.build(
        {**fields, "after": after_of(context, fields["after"])},
        gpus=call.options.gpus,
        quota=known.quota,
        capacity=known.capacity,
        request_id=request_id,
        home=home,
        bundle=BundleRef(),
        provenance=provenance(
            SystemShell(), source, host=os.uname().nodename, version=VERSION, now=context.clock.wall()
        ),
    )
    for url in filter(None, (spec.output_dir, spec.checkpoint_dir)):
        if "://" in url:
            check_scheme(url, "--output_dir")
    if fields.get("output_dir"):
        check_shape(call, spec, url_of(context.bucket, layout.OUTPUTS))
    check(spec, known)
    check_user(context.settings, spec.user)
    for text in doubts(spec, known):
        call.output.note(f"warning: {text}")
    if call.options.gpus is None and (hint := build.gpu_hint(spec, known.capacity)):
        call.output.note(hint)
    return spec


def from_this_shell(call: Call[Options], context: CommandContext, spec: JobSpec) -> JobSpec:
    """Add the variables that let the user's shell find its programs, if the fleet is the machine of that shell.

    This costs one more read. Variables that the job sets itself stay. An image has its own environment, so it gets
    none.
    """
    is_image = bool(spec.bundle.image or spec.bundle.build)
    if is_image or context.settings.runners != ["local"] or not context.bucket.url.startswith("file://"):
        return spec
    status, _ = leadership.read(context.bucket)
    if status is None or status.host != host.name():
        return spec
    return msgspec.structs.replace(spec, env={**session(call.environ), **spec.env})


def warn(call: Call[Options], spec: JobSpec) -> None:
    """Warn about text in the spec that looks like a secret, before others can read it."""
    for text in warnings(spec):
        call.output.note(f"warning: {text}")


def submitted(call: Call[JobOptions], context: CommandContext, job: str, spec: JobSpec) -> int:
    """Print what was submitted. With --follow or --wait, stay until the end and return the job's exit code."""
    output = call.output
    job_names.submitted(call, context, spec.name)
    output.note(f"submitted {job}; see launch logs {job}, launch why {job}")
    if waits := when(spec, context.clock.wall()):
        output.note(f"{job} {waits}")
    if call.options.follow or call.options.wait:
        found = find(job, context.reader().look())
        with detachable(output, name=job):
            code = (
                show_log(output, context, found, LogSelection())
                if call.options.follow
                else until_end(context, found, output)
            )
    else:
        code = DONE
    output.say(json.dumps({"id": job, "name": spec.name}) if output.json else spec.name)
    return code
