"""Changes that an update makes to a job's spec. Pure.

The spec in the journal stays as it is. The spec in force is made from it and the changes.
"""

from __future__ import annotations

import shlex
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from .spec import RULES, BundleRef, JobSpec, Provenance


class Changes(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Fields of a job spec with their new values. A field that is UNSET does not change. Times are in seconds.

    The fields mean what they mean in `JobSpec`. A new `command` comes with the `bundle` of its code, and `provenance`
    then says where that code came from.
    """

    priority: int | UnsetType = UNSET
    max_tries: int | UnsetType = UNSET
    retry_interval_s: float | UnsetType = UNSET
    grace_s: float | UnsetType = UNSET
    time_limit_s: float | UnsetType | None = UNSET
    finish_timeout_s: float | UnsetType = UNSET
    crash_guard: bool | UnsetType = UNSET
    after: list[str] | UnsetType = UNSET
    begin: datetime | UnsetType | None = UNSET
    deadline: datetime | UnsetType | None = UNSET
    max_parallel: int | UnsetType | None = UNSET
    job_class: str | UnsetType = UNSET
    max_tier: int | UnsetType = UNSET
    command: list[str] | str | UnsetType = UNSET
    bundle: BundleRef | UnsetType = UNSET
    provenance: Provenance | UnsetType = UNSET

    @property
    def renew(self) -> bool:
        """Return True if there is a new command: running attempts are to be replaced."""
        return self.command is not UNSET


IN_PLACE = frozenset(Changes.__struct_fields__) - {"command", "bundle", "provenance"}
"""Fields that can change while the job stays as it is, with or without attempts."""


class Renewal(msgspec.Struct, frozen=True, kw_only=True):
    """The newest command of a job.

    user: the user who gave it.
    seq: number of the journal object that holds it.
    index: its place among the events of that object.
    """

    user: str
    seq: int
    index: int


def said(changes: Changes) -> dict[str, Any]:
    """Return the new values by field name."""
    values = {name: getattr(changes, name) for name in changes.__struct_fields__}
    return {name: value for name, value in values.items() if value is not UNSET}


def complaints(changes: Changes) -> list[str]:
    """Return every rule that the changes break; each complaint names its field."""
    values = said(changes)
    wrong = [f"{field} {complaint}" for field, rule in RULES if field in values for complaint in rule(values[field])]
    if changes.bundle is not UNSET and changes.bundle.build and not changes.bundle.digest:
        wrong.append("bundle has an image that is not built yet; wait for the build, then update the job")
    if not values:
        wrong.append("the update changes nothing; set at least one field")
    if ("command" in values) != ("bundle" in values) or ("provenance" in values and "command" not in values):
        wrong.append("a command and the bundle of its code can only change together")
    return wrong


def in_place(changes: Changes) -> Changes:
    """Return the changes without the command and the fields that come with it."""
    return Changes(**{name: value for name, value in said(changes).items() if name in IN_PLACE})


def merged(before: Changes | None, after: Changes) -> Changes:
    """Return both changes as one; `after` wins."""
    return msgspec.structs.replace(before, **said(after)) if before else after


def in_words(changes: Changes) -> str:
    """Describe the changes for people: `priority 3, no time limit, the command python train.py`."""
    return ", ".join(_word(field, value) for field, value in said(changes).items() if field in _WORDS)


def _word(field: str, value: Any) -> str:
    if field == "command":
        return f"the command {value if isinstance(value, str) else shlex.join(value)}"[:200]
    if isinstance(value, bool):
        return f"{'a' if value else 'no'} {_WORDS[field]}"
    if value is None or value == []:
        return f"no {_WORDS[field]}"
    if isinstance(value, datetime):
        return f"{_WORDS[field]} {value.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    if isinstance(value, str | list):
        return f"{_WORDS[field]} {value if isinstance(value, str) else ', '.join(value)}"[:200]
    return f"{_WORDS[field]} {value:g}{' s' if field.endswith('_s') else ''}"


_WORDS = {
    "priority": "priority",
    "max_tries": "tries",
    "retry_interval_s": "retry interval",
    "grace_s": "grace",
    "time_limit_s": "time limit",
    "finish_timeout_s": "finish timeout",
    "crash_guard": "crash guard",
    "after": "conditions",
    "begin": "begin",
    "deadline": "deadline",
    "max_parallel": "tasks at once",
    "job_class": "class",
    "max_tier": "worst tier",
    "command": "command",
}


def revised(spec: JobSpec, *changes: Changes | None, digest: str) -> JobSpec:
    """Return the spec with these changes, applied in order.

    If the spec waits for a build, its bundle gets the `digest` of the image; "" for none.
    """
    for each in changes:
        spec = msgspec.structs.replace(spec, **said(each)) if each else spec
    if digest and spec.bundle.build and not spec.bundle.digest:
        spec = msgspec.structs.replace(spec, bundle=msgspec.structs.replace(spec.bundle, digest=digest))
    return spec
