"""The job spec: what a user asks for. Immutable, versioned JSON; clients and scripts import this. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, get_type_hints

import msgspec

from bastion.quota.demand import CLASSES, STANDARD

from ..codec import ERROR_MAX, Record, decode, encode, numbered, readable
from ..errors import NewerVersion, RecordError, SpecError
from ..nearest import did_you_mean
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
LABELS_MAX = 32
GUESSES_MAX = 16  # comparing names is slow, and a spec has room for many wrong ones
SECONDS_MAX = 366 * 86_400.0
GRACE_MAX_S = 86_400.0
FINISH_TIMEOUT_S = 900.0

SINCE: Mapping[str, int] = {"shell": 2, "outputs": 2, "finish_timeout_s": 2, "crash_guard": 2, "labels": 3}
"""Fields that came later, each with the schema of a spec that uses it.

An older bastion refuses such a spec by its number.
"""
SPEC = max(SINCE.values())
"""The newest schema of a spec. A spec has the schema of the newest field of `SINCE` that it uses; 1 if it uses none."""

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
USER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._@+-]{0,62}[A-Za-z0-9])?")
LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?")


class Provenance(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The origin of a job. It is for people; no decision uses it.

    host: the machine that the job was submitted from.
    git_commit: HEAD of the folder that the code came from; "" if that is not in git.
    git_dirty: whether that folder had changes that were not committed.
    client_version: the version of the client.
    submitted: when the client submitted it, by the client's clock.
    parent: the id of the job that this one repeats; "" if it repeats none.
    """

    host: str = ""
    git_commit: str = ""
    git_dirty: bool = False
    client_version: str = ""
    submitted: datetime | None = None
    parent: str = ""


class KeptSpec(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The fields that a job in the bastion's state has from its spec, under the same names. Times are in seconds.

    name: the job's name, which need not be unique; its id is made from it.
    user: the user who submits it; must be the user of the inbox key.
    project: the project whose share it uses.
    count: number of tasks; more than 1 makes the job an array.
    priority: 1 (the highest) to 5; the order inside the project.
    max_tries: failures after which a task fails for good; failures of infrastructure do not count.
    retry_interval_s: seconds between a failure and the next try.
    grace_s: seconds between SIGTERM and SIGKILL.
    time_limit_s: the most seconds that one attempt may run; null: no limit.
    finish_timeout_s: seconds that the other workers of a gang have once the first has ended with 0; 0: no limit.
    crash_guard: fail a task for good after the same error twice without progress.
    begin: the job does not start before this time.
    deadline: tasks that have not ended by then are stopped, and not tried again.
    max_parallel: the most tasks of an array that hold resources at once; null: no limit.
    job_class: class across projects; an admin grants `urgent`.
    max_tier: the worst quota tier that the job may run in; 0 is the best.
    labels: names and values that people find jobs by, as team=rl; no decision uses them.
    """

    name: str
    user: str
    project: str
    count: int = 1
    priority: int = 5
    max_tries: int = 1
    retry_interval_s: float = 60.0
    grace_s: float = 30.0
    time_limit_s: float | None = None
    finish_timeout_s: float = FINISH_TIMEOUT_S
    crash_guard: bool = True
    begin: datetime | None = None
    deadline: datetime | None = None
    max_parallel: int | None = None
    job_class: str = CLASSES[STANDARD]
    max_tier: int = 0
    labels: dict[str, str] = {}


class JobSpec(  # type: ignore[misc]  # msgspec, other than dataclasses, can freeze what derives from a mutable base
    KeptSpec, Record, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """A job as its user asked for it.

    Fields at their defaults are not written to the bucket: so an older bastion can read the spec, too.

    schema: the number of this form; a reader refuses a larger one than its own and asks for an upgrade.
    command: an argv, or one text for a shell.
    env: environment variables of the command; `secret:NAME` or `secret:projects/…` is a secret.
    resources: amounts per replica, by kind.
    instance_type: the instance type as the user wrote it; "" if none.
    replicas: replicas of one task; they start together or not at all, as a gang.
    alternatives: up to three other shapes that would do as well, better ones first.
    after: conditions, as `ok:JOB` with the id of a job; the job starts when all of them are met.
    bundle: the job's code.
    setup: a text for a shell, run once for a bundle on a machine.
    shell: the shell of `command` and `setup`. "": bash if the machine has it, else sh.
    output_dir: URL or absolute path of the output folder, which outlives attempts; "": in the bucket.
    outputs: globs of files in the working folder that are kept in `output_dir`.
    checkpoint_dir: URL or absolute path of the folder for checkpoints; "": `checkpoints` in the output folder.
    provenance: where the job came from; no decision uses it.
    """

    schema: int = numbered(SPEC)
    command: list[str] | str
    env: dict[str, str] = {}
    resources: dict[str, int] = {}
    instance_type: str = ""
    replicas: int = 1
    alternatives: list[Alternative] = []
    after: list[str] = []
    bundle: BundleRef = BundleRef()
    setup: str = ""
    shell: str = ""
    output_dir: str = ""
    outputs: list[str] = []
    checkpoint_dir: str = ""
    provenance: Provenance = Provenance()

    def __post_init__(self) -> None:
        if 1 <= self.schema <= SPEC:  # the reader refuses any other number
            used = (SINCE[name] for name in SINCE if getattr(self, name) != _UNUSED[name])
            msgspec.structs.force_setattr(self, "schema", max(used, default=1))

    @property
    def demand(self) -> dict[str, int]:
        """Return what one task holds: all its replicas together."""
        return {kind: amount * self.replicas for kind, amount in self.resources.items()}

    @property
    def choices(self) -> tuple[Alternative, ...]:
        """Return all shapes of the job, the first choice first."""
        first = Alternative(resources=self.resources, replicas=self.replicas, instance_type=self.instance_type)
        return (first, *self.alternatives)


def new_jobspec(**fields: Any) -> JobSpec:
    """Make a checked job spec. Raises `SpecError` with all complaints; each names its field."""
    return _checked(fields)


def kept(spec: KeptSpec) -> dict[str, Any]:
    """Return the fields of the spec that the bastion keeps."""
    return {name: getattr(spec, name) for name in KeptSpec.__struct_fields__}


def serialize_jobspec(spec: JobSpec) -> str:
    """Return the spec as JSON text, including defaults."""
    return encode(written_out(spec)).decode()


def written_out(value: Any) -> Any:
    """Return a spec, or a part of one, as plain values: every field, also fields at their defaults."""
    if isinstance(value, msgspec.Struct):
        return {name: written_out(getattr(value, name)) for name in value.__struct_fields__}
    return [written_out(each) for each in value] if isinstance(value, list) else msgspec.to_builtins(value)


def deserialize_jobspec(text: str | bytes) -> JobSpec:
    """Parse JSON text into a checked spec. Raises `SpecError`; `NewerVersion` if a newer client wrote it."""
    data = text.encode() if isinstance(text, str) else text
    if len(data) > SPEC_BYTES_MAX:
        raise SpecError(f"the spec has {len(data)} bytes; at most {SPEC_BYTES_MAX} are allowed")
    try:
        spec = decode(data, JobSpec, "the job spec")
        return _sound(spec, check(spec))
    except NewerVersion:
        raise
    except RecordError:  # check it again, field by field, to report everything that is wrong
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
    """Return every rule that the spec breaks; each complaint names its field."""
    wrong = [f"{field} {complaint}" for field, rule in RULES for complaint in rule(getattr(spec, field))]
    return wrong or _as_a_whole(spec)


def _as_a_whole(spec: JobSpec) -> list[str]:
    return [*start_conditions.in_order(spec.begin, spec.deadline), *alternatives.distinct(spec.choices)]


_HINTS = {"schema": int} | get_type_hints(JobSpec)
readable(JobSpec, *_HINTS.values())
_FIELDS = msgspec.structs.fields(JobSpec)
_REQUIRED = frozenset(f.name for f in _FIELDS if f.required)
_DEFAULTS = {f.name: f.default for f in _FIELDS if f.default is not msgspec.NODEFAULT}
_UNUSED = _DEFAULTS | {f.name: f.default_factory() for f in _FIELDS if f.default_factory is not msgspec.NODEFAULT}


def checked_fields(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Check the fields of a spec that may be incomplete. Return the valid fields, and all complaints."""
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
    spec = JobSpec(  # msgspec leaves out a default only if it is the same object, so equal values are not passed
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


def labels(value: Mapping[str, str]) -> Iterator[str]:
    """Yield what is wrong with labels, or with a filter of labels. A value may be empty."""
    if len(value) > LABELS_MAX:
        yield f"has {len(value)} labels; at most {LABELS_MAX} are allowed"
    wrong = next(
        (pair for pair in value.items() if not all(map(LABEL.fullmatch, filter(None, pair))) or not pair[0]), None
    )
    if wrong:
        form = "1 to 63 letters, digits, '.', '_', '/' and '-', beginning and ending with a letter or digit"
        yield f"has {shown('='.join(wrong))}; for names and values use {form}"


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
    ("labels", labels),
    ("bundle", bundle.faults),
    ("setup", command_rules.setup),
    ("shell", one_of(command_rules.SHELLS)),
    ("output_dir", _folder),
    ("outputs", _outputs),
    ("checkpoint_dir", _folder),
    ("provenance", _provenance),
)
