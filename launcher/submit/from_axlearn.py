"""Convert a job spec of AXLearn's bastion into fields of ours. Pure.

Their format is `axlearn.cloud.common.job_types.JobSpec`, version 1, as `serialize_jobspec` writes it into the bucket.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from bastion.model.errors import SpecError
from bastion.model.job.spec import SPEC_BYTES_MAX, checked_fields
from bastion.model.wording import shown

VERSION = 1
_FIELDS = frozenset({"version", "name", "command", "cleanup_command", "env_vars", "metadata"})
_METADATA = frozenset({"user_id", "project_id", "creation_time", "resources", "priority", "job_id"})
_LEFT_OUT = {
    "creation_time": "the bastion records when a job was submitted",
    "job_id": "every job gets an id of its own",
}
_TRAP = "a cleanup command has no equivalent; put it into the command: bash -c 'trap CLEANUP EXIT; COMMAND'"


def converted(data: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the fields of a spec for `launch --spec`, and a note on each field of theirs that was left out.

    Raises `SpecError` with everything that is wrong.
    """
    raw = _table(data)
    metadata = raw.get("metadata")
    if not isinstance(metadata, dict):
        raise SpecError("it has no metadata; is it a job spec of AXLearn's?")
    wrong = [*_unknown(raw, metadata), *_wrong(raw)]
    fields = {name: value for name, value in _fields(raw, metadata).items() if value not in (None, {}, "")}
    known, more = checked_fields(fields)
    wrong += more + [f"{name} is missing" for name in ("name", "command", "user") if name not in fields]
    if wrong:
        raise SpecError("; ".join(wrong))
    left = [f"left out {name}: {why}" for name, why in _LEFT_OUT.items() if metadata.get(name) is not None]
    return {name: fields[name] for name in known}, left


def _table(data: bytes) -> dict[str, Any]:
    if len(data) > SPEC_BYTES_MAX:
        raise SpecError(f"it has more than {SPEC_BYTES_MAX} bytes")
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise SpecError(f"it is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise SpecError("it is not a JSON object")
    return raw


def _unknown(raw: Mapping[str, Any], metadata: Mapping[str, Any]) -> Iterator[str]:
    for place, table, known in (("", raw, _FIELDS), ("metadata.", metadata, _METADATA)):
        for name in table:
            if name not in known and table[name] is not None:
                yield f"{place}{shown(name)} is not a field of AXLearn's version {VERSION}; leave it out if you can"


def _wrong(raw: Mapping[str, Any]) -> Iterator[str]:
    if raw.get("version") != VERSION:
        yield f"version is {shown(raw.get('version'))}; only {VERSION} is supported"
    if raw.get("cleanup_command"):
        yield _TRAP
    if not isinstance(raw.get("command"), str):
        yield f"command is {shown(raw.get('command'))}; use a text"
    elif _words(raw["command"]) is None:
        yield f"command is {shown(raw['command'])}: its quotes do not match"


def _words(command: str) -> list[str] | None:
    """Split the command as AXLearn does: by a shell's rules, but without a shell. None if its quotes do not match."""
    try:
        return shlex.split(command)
    except ValueError:
        return None


def _fields(raw: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    command = raw.get("command")
    return {
        "name": raw.get("name"),
        "user": metadata.get("user_id"),
        "project": None if metadata.get("project_id") == "none" else metadata.get("project_id"),
        "command": _words(command) if isinstance(command, str) else None,
        "env": raw.get("env_vars"),
        "resources": metadata.get("resources"),
        "priority": metadata.get("priority"),
    }
