"""`launch cluster`: run a Ray cluster as a job. It holds its share of the quota as any other job does."""

from __future__ import annotations

import json
import socket
from contextlib import suppress
from typing import Any

import msgspec

from bastion.launcher.read import exit_codes
from bastion.launcher.read.job_lookup import FoundJob, known
from bastion.launcher.read.job_rows import QueueView
from bastion.launcher.read.past_jobs import look_up
from bastion.launcher.read.pending_reasons import derived
from bastion.launcher.read.stored_spec import needed_spec
from bastion.launcher.read.view import View
from bastion.launcher.submit import ray_cluster
from bastion.launcher.submit.sending import send
from bastion.model import layout
from bastion.model.errors import JobNotFound, UsageError
from bastion.model.layout import job_id
from bastion.model.stored.requests import Submit
from bastion.stores.routed import url_of

from ..common.bundler_settings import check_setup, settings_of
from ..common.bundling import docker_repo_of
from ..common.command_context import CommandContext, context_of
from ..common.preview import preview
from ..common.spec_options import fields_of
from ..options.launch import ClusterOptions, StopOptions
from ..terminal.main import DONE, Call
from ..terminal.table import plain
from . import stop as launch_stop
from .parts.spec_from_file import spec_text
from .submit import checked_spec, coded, warn

_TRY_S = 2.0


def run(call: Call[ClusterOptions]) -> int:
    """Do the action of the first word with the cluster of the second word."""
    action, name = call.words
    return {"up": up, "down": down, "status": status, "details": details}[action](call, name)


def up(call: Call[ClusterOptions], name: str) -> int:
    """Submit the cluster as a job. Raises `UsageError` without a name, or if a job of this name has not ended."""
    if not name:
        raise UsageError("a cluster needs a name, as in launch cluster up dev")
    kind_said = call.options.bundler_type
    settings = settings_of(kind_said, call.options.bundler_spec, docker_repo_of(call, kind_said))
    check_setup(settings.kind, call.options.setup or "")
    context = context_of(call)
    there = known(name, context.reader().look())
    if there and not (there.job and exit_codes.ended(there.job, None)):
        raise UsageError(f"{there.id} exists already; see launch cluster status {name}, or choose another name")
    request_id, dry = context.ids.new(), call.options.dry_run
    fields = fields_of(call, {}, context.clock.wall(), default_shell=context.settings.default_shell)
    fields |= {"name": name, "command": ray_cluster.MARK}  # a placeholder: it depends on the checked resources
    home = "" if dry else url_of(context.bucket, layout.OUTPUTS)
    if fields["alternatives"]:
        raise UsageError("a cluster has one shape; use one instance type, or one set of resources")
    spec = checked_spec(call, context, fields, request_id, settings.get("source") or ".", home=home)
    spec = msgspec.structs.replace(spec, command=ray_cluster.command(spec.resources))
    warn(call, spec)
    if dry:
        call.output.say(spec_text(spec, settings.kind))
        preview(call, job_id(name, request_id), spec, settings)
        return DONE
    spec = coded(call, context, spec, settings)
    send(context.bucket, user=spec.user, request_id=request_id, request=Submit(spec=spec))
    job = job_id(name, request_id)
    call.output.note(f"submitted {job}; see launch cluster details {name}, and launch logs {name}")
    call.output.say(json.dumps({"id": job, "name": name}) if call.output.json else name)
    return DONE


def down(call: Call[ClusterOptions], name: str) -> int:
    """Stop the job. Everything on the cluster ends with it."""
    found = _cluster(context := context_of(call), name, context.reader().look())
    options = StopOptions.like(call.options, user_id=call.options.user_id, wait=call.options.wait)
    return launch_stop.run(
        Call(options=options, words=(found.id,), after=None, environ=call.environ, output=call.output)
    )


def status(call: Call[ClusterOptions], name: str) -> int:
    """Print one line: the cluster's state, and its dashboard or the reason."""
    shown = _shown(call, name)
    if call.output.json:
        call.output.data(shown)
        return DONE
    where = f"dashboard {shown['dashboard']}, {_answers(shown)}" if "dashboard" in shown else shown["reason"]
    call.output.say(plain(f"{shown['id']} is {shown['state']}" + (f": {where}" if where else "")))
    return DONE


def details(call: Call[ClusterOptions], name: str) -> int:
    """Print everything: what the cluster holds, and its addresses."""
    shown = _shown(call, name)
    if call.output.json:
        call.output.data(shown)
        return DONE
    fields = ("id", "user", "project", "state", "reason", "num_replicas", "resources", "dashboard", "client", "head")
    lines = [f"{field:<14}{_text(shown[field])}" for field in fields if shown.get(field)]
    call.output.say("\n".join([*lines, *([f"{'':<14}{_answers(shown)}"] if "dashboard" in shown else [])]))
    return DONE


def _shown(call: Call[ClusterOptions], name: str) -> dict[str, Any]:
    """Return a row of `launch ls --json`.

    While the cluster runs, add its addresses and whether its dashboard answers.
    """
    context = context_of(call)
    view = context.reader().look()
    found = _cluster(context, name, view)
    row: dict[str, Any] = {"schema": 1, **QueueView(view, (), derived(view)).row(found.known)}
    if at := ray_cluster.addresses(found.job):
        row |= at.urls() | {"answers": _listens(at.host, at.dashboard_port)}
    return row


def _cluster(context: CommandContext, name: str, view: View) -> FoundJob:
    """Return the newest job of this name. Raises `JobNotFound` if there is none, or if it is not a cluster."""
    found = look_up(name, view, context.bucket, context.tasks)
    if not ray_cluster.is_cluster(needed_spec(context.bucket, context.tasks, found)):
        raise JobNotFound(f"{found.id} is a job, not a cluster; see launch show {name}")
    return found


def _answers(shown: dict[str, Any]) -> str:
    return (
        "which answers"
        if shown["answers"]
        else "which does not answer: it is still starting, or this machine cannot reach it"
    )


def _listens(host: str, port: int) -> bool:
    with suppress(OSError), socket.create_connection((host, port), timeout=_TRY_S):
        return True
    return False


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{kind}={amount}" for kind, amount in value.items())
    return plain(str(value))
