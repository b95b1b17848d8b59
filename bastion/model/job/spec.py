"""The job spec: what a user asks for. Immutable, versioned JSON; clients and scripts import this. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, get_type_hints

import msgspec

from bastion.quota.demand import CLASSES, STANDARD

from ..codec import ERROR_MAX, Record, decode, encode, numbered, readable
from ..errors import Newer, RecordError, SpecError
from ..nearest import did_you_mean
from ..version import SPEC
from ..wording import between, named, one_line, one_of, plain, shown
from . import alternatives, command_rules, start_conditions
from . import bundle_ref as bundle
from .alternatives import Alternative
from .bundle_ref import BundleRef as BundleRef

SPEC_BYTES_MAX = 192 * 1024  # a request, which carries the spec, may have 256 KiB
COUNT_MAX = 100_000
TRIES_MAX = 1_000
TIER_MAX = 63
GLOBS_MAX = 32
GUESSES_MAX = 16  # comparing names is slow, and a spec has room for many wrong ones
SECONDS_MAX = 366 * 86_400.0
GRACE_MAX_S = 86_400.0
FINISH_TIMEOUT_S = 900.0

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
USER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._@+-]{0,62}[A-Za-z0-9])?")


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Where the job came from; for people, never for decisions. `parent` is the id of the job that it repeats."""

    host: str = ""
    git_commit: str = ""
    git_dirty: bool = False
    client_version: str = ""
    submitted: datetime | None = None
    parent: str = ""


class JobSpec(Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A job as its user asked for it. What it leaves at the default is left out in the bucket: so an older bastion reads it, too.

    `command` is an argv, or one text for a shell; `setup` is such a text, run once for a bundle on a machine. `shell` names
    the shell of both: "" is bash where the machine has one, else sh.
    `resources` are per replica; `alternatives` are what would do instead, the better first. Times are in seconds. It starts
    when all conditions of `after` are met and not before `begin`; what has not ended by its `deadline` is ended. Once the
    first worker of a gang has ended with 0, the others have `finish_timeout_s`; 0: for ever. With
    `crash_guard` it fails for good with the same error twice without progress. Of an array
    at most `max_parallel` tasks hold resources at once. `output_dir` and `checkpoint_dir` are URLs or absolute paths that
    outlive attempts. `outputs` are globs of files that are kept there from the working folder.
    """

    schema: int = numbered(SPEC)
    name: str
    user: str
    project: str
    command: list[str] | str
    env: dict[str, str] = {}
    resources: dict[str, int] = {}
    instance_type: str = ""
    replicas: int = 1
    alternatives: list[Alternative] = []
    count: int = 1
    priority: int = 5
    max_tries: int = 1
    retry_interval_s: float = 60.0
    grace_s: float = 30.0
    time_limit_s: float | None = None
    finish_timeout_s: float = FINISH_TIMEOUT_S
    crash_guard: bool = True
    after: list[str] = []
    begin: datetime | None = None
    deadline: datetime | None = None
    max_parallel: int | None = None
    job_class: str = CLASSES[STANDARD]
    max_tier: int = 0
    bundle: BundleRef = BundleRef()
    setup: str = ""
    shell: str = ""
    output_dir: str = ""
    outputs: list[str] = []
    checkpoint_dir: str = ""
    provenance: Provenance = Provenance()

    def __post_init__(self) -> None:
        if 1 <= self.schema <= SPEC:  # any other is for the reader to refuse
            used = (SINCE[name] for name in SINCE if getattr(self, name) != _UNUSED[name])
            msgspec.structs.force_setattr(self, "schema", max(used, default=1))

    @property
    def demand(self) -> dict[str, int]:
        """What one task holds: all its replicas together."""
        return {kind: amount * self.replicas for kind, amount in self.resources.items()}

    @property
    def choices(self) -> tuple[Alternative, ...]:
        """All its shapes, the one that it wants most first."""
        first = Alternative(resources=self.resources, replicas=self.replicas, instance_type=self.instance_type)
        return (first, *self.alternatives)


def new_jobspec(**fields: Any) -> JobSpec:
    """A checked job spec. Raises `SpecError` with all that is wrong, each complaint naming its field."""
    return _checked(fields)


def serialize_jobspec(spec: JobSpec) -> str:
    """The spec as JSON text, defaults and all."""
    return encode(written_out(spec)).decode()


def written_out(value: Any) -> Any:
    """A spec, or a part of one, as plain values: every field, also those that are left at their defaults."""
    if isinstance(value, msgspec.Struct):
        return {name: written_out(getattr(value, name)) for name in value.__struct_fields__}
    return [written_out(each) for each in value] if isinstance(value, list) else msgspec.to_builtins(value)


def deserialize_jobspec(text: str | bytes) -> JobSpec:
    """JSON text to a checked spec. Raises `SpecError`; `Newer` if a newer client wrote it."""
    data = text.encode() if isinstance(text, str) else text
    if len(data) > SPEC_BYTES_MAX:
        raise SpecError(f"the spec has {len(data)} bytes; at most {SPEC_BYTES_MAX} are allowed")
    try:
        spec = decode(data, JobSpec, "the job spec")
        return _sound(spec, check(spec))
    except Newer:
        raise
    except RecordError:  # say all that is wrong with it, field by field
        return _checked(_raw(data))


def _raw(data: bytes) -> dict[str, Any]:
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"the spec is not JSON: {one_line(str(error), ERROR_MAX)}") from error
    if not isinstance(raw, dict):
        raise SpecError("the spec is not a JSON object")
    return raw


def check(spec: JobSpec) -> list[str]:
    """Every rule that the spec breaks, each complaint naming its field."""
    wrong = [f"{field} {complaint}" for field, rule in RULES for complaint in rule(getattr(spec, field))]
    return wrong or _as_a_whole(spec)


def _as_a_whole(spec: JobSpec) -> list[str]:
    return [*start_conditions.in_order(spec.begin, spec.deadline), *alternatives.distinct(spec.choices)]


_HINTS = get_type_hints(JobSpec)
readable(JobSpec, *_HINTS.values())
_FIELDS = msgspec.structs.fields(JobSpec)
_REQUIRED = frozenset(f.name for f in _FIELDS if f.required)
_DEFAULTS = {f.name: f.default for f in _FIELDS if f.default is not msgspec.NODEFAULT}
_UNUSED = _DEFAULTS | {f.name: f.default_factory() for f in _FIELDS if f.default_factory is not msgspec.NODEFAULT}
SINCE: Mapping[str, int] = {"shell": 2, "outputs": 2, "finish_timeout_s": 2, "crash_guard": 2}
"""The fields that came later, each with the schema of a spec that uses it: an older bastion refuses such a spec by its number."""


def checked_fields(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a spec that may be incomplete, and all that is wrong with those that are there."""
    fields: dict[str, Any] = {}
    wrong: list[str] = []
    for name, value in raw.items():
        if name not in _HINTS:
            page = "see docs/reference/job-spec.md"
            hint = did_you_mean(name[:100], _HINTS, page) if len(wrong) < GUESSES_MAX else page
            wrong.append(f"{shown(name)} is not a field of a job spec; {hint}")
            continue
        try:
            fields[name] = msgspec.convert(value, _HINTS[name], strict=True)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            wrong.append(f"{name} is {shown(value)}: {one_line(plain(str(error)), ERROR_MAX)}")
    for field, rule in RULES:
        if field in fields:
            wrong += [f"{field} {complaint}" for complaint in rule(fields[field])]
    return fields, wrong


def _checked(raw: Mapping[str, Any]) -> JobSpec:
    fields, wrong = checked_fields(raw)
    wrong = [f"{name} is missing" for name in sorted(_REQUIRED - raw.keys())] + wrong
    if wrong:
        raise SpecError("; ".join(wrong))
    spec = JobSpec(
        **{name: value for name, value in fields.items() if name in _REQUIRED or value != _DEFAULTS.get(name)}
    )
    return _sound(spec, _as_a_whole(spec))


def _sound(spec: JobSpec, wrong: list[str]) -> JobSpec:
    if wrong:
        raise SpecError("; ".join(wrong))
    if _bytes(spec) > SPEC_BYTES_MAX:
        raise SpecError(f"the spec has more than {SPEC_BYTES_MAX} bytes; put data into files, not into the spec")
    return spec


def _bytes(spec: JobSpec) -> int:
    try:
        return len(encode(spec))
    except UnicodeEncodeError:
        fields = (f for f in spec.__struct_fields__ if not _writable(getattr(spec, f)))
        raise SpecError(f"{' and '.join(fields)} holds text that is not UTF-8; use names that are") from None


def _writable(value: Any) -> bool:
    try:
        return bool(encode(value))
    except UnicodeEncodeError:
        return False


def _folder(value: str) -> Iterator[str]:
    if value and (len(value) > 1024 or "\0" in value or not ("://" in value or value.startswith("/"))):
        yield f"is {shown(value)}; use a URL or an absolute path"


def _outputs(value: list[str]) -> Iterator[str]:
    if len(value) > GLOBS_MAX:
        yield f"has {len(value)} globs; at most {GLOBS_MAX} are allowed"
    for glob in value:
        if not glob or len(glob) > 256 or "\0" in glob or glob.startswith("/"):
            yield f"has {shown(glob)}; use a glob of files below the working folder, as '*.txt' or 'results/*'"


def _provenance(value: Provenance) -> Iterator[str]:
    if max(map(len, (value.host, value.git_commit, value.client_version, value.parent))) > 256:
        yield "holds a text of more than 256 characters"


_WORD = "1 to 63 letters, digits, '.', '_' and '-', beginning and ending with a letter or digit, without '..'"

RULES: tuple[tuple[str, Callable[[Any], Iterator[str]]], ...] = (
    ("schema", between(1, SPEC)),
    ("name", named(NAME, _WORD)),
    ("user", named(USER, "1 to 64 letters, digits, '.', '_', '@', '+' and '-', without '..'")),
    ("project", named(NAME, _WORD)),
    ("command", command_rules.command),
    ("env", command_rules.env),
    ("resources", alternatives.resources),
    ("instance_type", alternatives.instance_type),
    ("replicas", alternatives.replicas),
    ("alternatives", alternatives.alternatives),
    ("count", between(1, COUNT_MAX)),
    ("priority", between(1, 5, " (1 is the highest)")),
    ("max_tries", between(1, TRIES_MAX)),
    ("retry_interval_s", between(0, SECONDS_MAX, " seconds")),
    ("grace_s", between(0, GRACE_MAX_S, " seconds")),
    ("time_limit_s", between(1, SECONDS_MAX, " seconds")),
    ("finish_timeout_s", between(0, SECONDS_MAX, " seconds")),
    ("after", start_conditions.after),
    ("begin", start_conditions.moment),
    ("deadline", start_conditions.moment),
    ("max_parallel", between(1, COUNT_MAX)),
    ("job_class", one_of(CLASSES)),
    ("max_tier", between(0, TIER_MAX)),
    ("bundle", bundle.faults),
    ("setup", command_rules.setup),
    ("shell", one_of(command_rules.SHELLS)),
    ("output_dir", _folder),
    ("outputs", _outputs),
    ("checkpoint_dir", _folder),
    ("provenance", _provenance),
)
