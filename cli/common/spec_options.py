"""Turn the flags of a command line into the fields of a job spec.

A flag names the field that it sets. Times and job names are resolved here, before the job is submitted: times to
moments, names to ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from bastion.launcher.read.past_jobs import look_up
from bastion.launcher.submit import build
from bastion.launcher.submit.spec_file import Fields
from bastion.launcher.submit.start_after import resolved
from bastion.model.durations import coming
from bastion.model.errors import UsageError
from bastion.model.job.alternatives import Alternative
from bastion.model.wording import clock

from ..options.shared import NONE, RequestOptions
from ..terminal.flags import Options
from ..terminal.main import Call
from .command_context import CommandContext, user_of
from .place import setting_of

_MOMENTS = ("begin", "deadline")
_SHAPE = ("resources", "instance_type", "replicas")


def given(call: Call[Options], now: datetime) -> dict[str, Any]:
    """Return the fields that the command line sets, by their names. Raises `UsageError`."""
    fields = call.options.fields(call.given)
    return fields | {name: _moment(fields[name], name, now) for name in _MOMENTS if name in fields}


def fields_of(call: Call[RequestOptions], file: Fields, now: datetime, *, default_shell: str = "") -> dict[str, Any]:
    """Return the fields of a job spec: from the flags that are given, else from a spec file, else the flags' defaults.

    Tables are merged. `default_shell` is the bastion's setting. The code and the command are left to the caller.
    """
    typed = given(call, now)
    fields = call.options.fields()
    fields |= {name: value for name, value in file.items() if name not in ("bundle", "schema")}
    fields |= {name: _merged(file.get(name), value) for name, value in typed.items()}
    fields["shell"] = fields["shell"] or ("" if "shell" in file else default_shell)
    if "user" not in file or "user" in typed:
        fields["user"] = user_of(call)
    if ("project" not in file or "project" in typed) and (found := setting_of(call, "project_id")):
        fields["project"] = found.value
    if "output_dir" in typed:
        fields.pop("checkpoint_dir", None)
    fields.pop("bundle", None)
    return fields | _shape(call, file, fields)


def _shape(call: Call[RequestOptions], file: Fields, fields: Fields) -> dict[str, Any]:
    """Return the shapes of the job: the first one, and its alternatives."""
    shapes = build.choices(
        fields["instance_type"],
        build.listed(call.options.resources) if "resources" in call.given else [file.get("resources", {})],
        fields["replicas"],
    )
    first = {name: getattr(shapes[0], name) for name in _SHAPE}
    return first | {"alternatives": _alternatives(call, file, shapes[1:])}


def _alternatives(call: Call[RequestOptions], file: Fields, listed: Sequence[Alternative]) -> Sequence[Alternative]:
    """Return the alternatives of the file.

    A flag that sets the shape replaces them: they belong to another job then.
    """
    shaping = sorted({"instance_type", "resources", "num_replicas"} & call.given)
    if file.get("alternatives") and shaping and not listed:
        call.output.note(f"the alternatives in the spec are not used, because --{shaping[0]} sets the shape")
    return listed if shaping else file.get("alternatives", ())


def _merged(before: Any, after: Any) -> Any:
    return {**before, **after} if isinstance(before, dict) and isinstance(after, dict) else after


def _moment(text: str, flag: str, now: datetime) -> datetime | None:
    """Return the moment that a flag sets; None for `none`. Raises `UsageError`, also for a deadline that has passed."""
    found = None if text == NONE else coming(text, now, f"--{flag}")
    if found and flag == "deadline" and found <= now:
        raise UsageError(f"--deadline is {clock(found, now)}, which has passed; use a later time")
    return found


def after_of(context: CommandContext, words: Sequence[str]) -> list[str]:
    """Return the conditions of `--after`, with the ids of the jobs that its words mean now.

    Raises `JobNotFound`, `SpecError`.
    """
    if not words:
        return []
    view = context.reader().look()
    return resolved(words, lambda word: look_up(word, view, context.bucket, context.tasks), view.state.jobs)
