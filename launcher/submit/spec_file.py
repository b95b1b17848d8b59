"""Read a job spec from a JSON or TOML file, which may give only some of the fields. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from bastion.model.errors import SpecError
from bastion.model.job import instances
from bastion.model.job.spec import SPEC_BYTES_MAX, JobSpec, checked_fields
from bastion.quota import toml_reader

Fields = Mapping[str, Any]

_OF_ITS_TIME = frozenset({"user", "provenance", "after", "begin", "deadline"})


def fields_of(data: bytes, home: str) -> Fields:
    """Return the checked fields of a file. `home` is the URL above the default output folders.

    Leaves out what a job gets only when it is submitted: its provenance, and the default folders of the job from which
    the file was written. Raises `SpecError` with everything that is wrong.
    """
    if len(data) > SPEC_BYTES_MAX:
        raise SpecError(f"it has more than {SPEC_BYTES_MAX} bytes; put data into other files, not into the spec")
    fields, wrong = checked_fields(_table(data))
    try:
        _leave_out_what_the_type_gives(fields)
    except SpecError as error:
        wrong.append(str(error))
    if wrong:
        raise SpecError("; ".join(wrong))
    fields.pop("provenance", None)
    _leave_out_what_was_anothers(fields, home)
    return fields


def fields_again(spec: JobSpec, home: str) -> Fields:
    """Return the fields of a spec for a job that repeats it.

    Leaves out the user, the provenance, the start conditions and times, and the default folders of the first job.
    """
    fields = {name: getattr(spec, name) for name in spec.__struct_fields__ if name not in _OF_ITS_TIME}
    _leave_out_what_the_type_gives(fields)
    _leave_out_what_was_anothers(fields, home)
    return fields


def _table(data: bytes) -> dict[str, Any]:
    """Parse the file: JSON begins with a brace, and TOML never does."""
    try:
        text = data.decode()
        if text.lstrip().startswith("{"):
            found: dict[str, Any] = json.loads(text)
        else:
            found = toml_reader.loads(text)
    except toml_reader.TomlError as error:
        raise SpecError(f"it is neither JSON nor TOML: line {error.line}: {error.what}") from error
    except (ValueError, RecursionError) as error:
        raise SpecError(f"it is neither JSON nor TOML: {error}") from error
    return found


def _leave_out_what_the_type_gives(fields: dict[str, Any]) -> None:
    """Remove the amounts that the instance type implies: a spec holds both, but a user gives them only once."""
    if fields.get("instance_type") and fields.get("resources"):
        typed = instances.resources(fields["instance_type"])
        fields["resources"] = {kind: n for kind, n in fields["resources"].items() if typed.get(kind) != n}


def _leave_out_what_was_anothers(fields: dict[str, Any], home: str) -> None:
    outputs = fields.get("output_dir", "")
    if re.fullmatch(rf"{re.escape(home)}/outputs/[^/]+/[0-9]+", outputs):
        del fields["output_dir"]
    if outputs and fields.get("checkpoint_dir") == f"{outputs}/checkpoints":
        del fields["checkpoint_dir"]
