"""A job once more: its spec and its code, but for what is said otherwise. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from bastion import layout
from bastion.spec import JobSpec, Provenance, new_jobspec
from launcher.build import checkpoints, default_outputs


def again(
    spec: JobSpec, parent: str, said: Mapping[str, Any], *, user: str, request_id: str, home: str, origin: Provenance
) -> JobSpec:
    """The spec of a job that repeats the job `parent`. `said` are other values, by the names of fields; `env` adds.

    A folder that was the parent's alone is not the new job's; one that its user named still is. Raises `SpecError`.
    """
    fields = {**msgspec.structs.asdict(spec), **said, "user": user, "env": {**spec.env, **said.get("env", {})}}
    own = f"/{layout.outputs(parent, 0)}"
    if "output_dir" not in said and (not spec.output_dir or spec.output_dir.endswith(own)):
        fields["output_dir"] = default_outputs(fields["name"], request_id, home, fields["count"])
    if fields["output_dir"] != spec.output_dir:
        fields["checkpoint_dir"] = checkpoints(fields["output_dir"])
    return new_jobspec(**{**fields, "provenance": origin})


def came_from(spec: JobSpec, parent: str, *, host: str, version: str, now: datetime) -> Provenance:
    """Where a repeated job comes from: the code's origin is the parent's."""
    return msgspec.structs.replace(spec.provenance, host=host, client_version=version, submitted=now, parent=parent)
