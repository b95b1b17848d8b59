"""`launch --spec=FILE`: read a job spec that flags override. Also write the spec that `--dry_run` prints."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from bastion.launcher.submit.spec_file import Fields, fields_of
from bastion.model.errors import SpecError
from bastion.model.job.spec import SPEC_BYTES_MAX, JobSpec, written_out

from ...options.shared import SubmitOptions
from ...terminal.main import Call

STDIN = "-"


def spec_file(call: Call[SubmitOptions], home: str) -> Fields:
    """Return the fields of the --spec file; nothing without one. Raises `SpecError` with everything that is wrong."""
    name = call.options.spec
    if not name:
        return {}
    try:
        fields = fields_of(_read(name), home)
    except SpecError as error:
        raise SpecError(f"{'standard input' if name == STDIN else name}: {error}") from error
    if not call.after and "command" not in fields:
        raise SpecError(f"{name} has no command; add one there, or after --")
    if "user" in fields and "user_id" not in call.given:
        call.output.note(f"submitting as user {fields['user']}, as {name} says")
    return fields


def bundler_of(call: Call[SubmitOptions], said: Fields) -> str | None:
    """Return the type of the bundler, from the flags, or from the file if it names a bundle.

    None: the job uses exactly the bundle of the file.
    """
    found = said.get("bundle")
    if found is None or {"bundler_type", "bundler_spec"} & call.given:
        kind: str = call.options.bundler_type
        return kind
    return "none" if found.type == "none" else None


def spec_text(spec: JobSpec, kind: str | None) -> str:
    """Return the spec as JSON.

    Code that is not packed yet is not in it: the one who submits the text chooses the bundler.
    """
    fields = written_out(spec)
    if kind not in (None, "none"):
        del fields["bundle"]
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _read(name: str) -> bytes:
    if name == STDIN:
        return sys.stdin.buffer.read(SPEC_BYTES_MAX + 1)
    with Path(name).open("rb") as file:
        return file.read(SPEC_BYTES_MAX + 1)
