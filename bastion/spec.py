"""The job spec: what a user asks for. Immutable, versioned JSON; clients and scripts import this. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, get_type_hints

import msgspec

from bastion import repo
from bastion.codec import SCHEMA, Record, encode, readable, refuse_newer
from bastion.errors import SpecError
from bastion.nearest import did_you_mean
from bastion.wording import between, named, plain, shown

SPEC_BYTES_MAX = 192 * 1024  # a request, which carries the spec, may have 256 KiB
COUNT_MAX = 100_000
REPLICAS_MAX = 10_000
AMOUNT_MAX = 1_000_000
TRIES_MAX = 1_000
SECONDS_MAX = 366 * 86_400.0
GRACE_MAX_S = 86_400.0
ENV_MAX = 1_000

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
USER = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._@+-]{0,62}[A-Za-z0-9])?")
KIND = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62})")
ENV_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
DIGEST = re.compile(r"[0-9a-f]{64}")

# What the worker itself says to a process; a user's value would be a lie about who the process is.
IDENTITY = frozenset(
    "RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME "
    "MASTER_ADDR MASTER_PORT NODE_RANK NNODES CUDA_VISIBLE_DEVICES "
    "JAX_COORDINATOR_ADDRESS JAX_NUM_PROCESSES JAX_PROCESS_ID".split()
)


class BundleRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The code that the worker has to fetch. `type` none needs nothing.

    Of any other type, `key` names an object and `digest` its SHA-256; of `git` these are the changes on top of `commit`
    of `repo`, if there are any. A commit is checked out whole, and the command runs in `folder` of it. `submodules`:
    whether they are fetched; None refuses a commit that has some.
    """

    type: str = "none"
    key: str = ""
    digest: str = ""
    repo: str = ""
    commit: str = ""
    folder: str = ""
    submodules: bool | None = None

    @property
    def identity(self) -> str:
        """One word for the code: the digest; of git the commit, `+` and the digest of the changes if there are any."""
        return "+".join(filter(None, (self.commit, self.digest)))


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the job came from; for people, never for decisions. `parent` is the id of the job that it repeats."""

    host: str = ""
    git_commit: str = ""
    git_dirty: bool = False
    client_version: str = ""
    submitted: datetime | None = None
    parent: str = ""


class JobSpec(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A job as its user asked for it.

    `command` is an argv, or one string for `/bin/sh`; `setup` is such a string, run once for a bundle on a machine.
    `resources` are per replica. Times are in seconds.
    `output_dir` and `checkpoint_dir` are URLs or absolute paths that outlive attempts.
    """

    name: str
    user: str
    project: str
    command: list[str] | str
    env: dict[str, str] = {}
    resources: dict[str, int] = {}
    instance_type: str = ""
    replicas: int = 1
    count: int = 1
    priority: int = 5
    max_tries: int = 1
    retry_interval_s: float = 60.0
    grace_s: float = 30.0
    time_limit_s: float | None = None
    bundle: BundleRef = BundleRef()
    setup: str = ""
    output_dir: str = ""
    checkpoint_dir: str = ""
    provenance: Provenance = Provenance()

    @property
    def demand(self) -> dict[str, int]:
        """What one task holds: all its replicas together."""
        return {kind: amount * self.replicas for kind, amount in self.resources.items()}


def new_jobspec(**fields: Any) -> JobSpec:
    """A checked job spec. Raises `SpecError` with all that is wrong, each complaint naming its field."""
    return _checked(fields)


def serialize_jobspec(spec: JobSpec) -> str:
    """The spec as JSON text."""
    return encode(spec).decode()


def deserialize_jobspec(text: str | bytes) -> JobSpec:
    """JSON text to a checked spec. Raises `SpecError`; `Newer` if a newer client wrote it."""
    data = text.encode() if isinstance(text, str) else text
    if len(data) > SPEC_BYTES_MAX:
        raise SpecError(f"the spec has {len(data)} bytes; at most {SPEC_BYTES_MAX} are allowed")
    refuse_newer(data, "the job spec")
    try:
        raw = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SpecError(f"the spec is not JSON: {error}") from error
    if not isinstance(raw, dict):
        raise SpecError("the spec is not a JSON object")
    return _checked(raw)


def check(spec: JobSpec) -> list[str]:
    """Every rule that the spec breaks, each complaint naming its field."""
    return [f"{field} {complaint}" for field, rule in RULES for complaint in rule(getattr(spec, field))]


_HINTS = get_type_hints(JobSpec)
readable(*_HINTS.values())
_REQUIRED = frozenset(f.name for f in msgspec.structs.fields(JobSpec) if f.required)


def checked_fields(raw: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The fields of a spec that may be incomplete, and all that is wrong with those that are there."""
    fields: dict[str, Any] = {}
    wrong = []
    for name, value in raw.items():
        if name not in _HINTS:
            hint = did_you_mean(name[:100], _HINTS, "see docs/reference/job-spec.md")
            wrong.append(f"{shown(name)} is not a field of a job spec; {hint}")
            continue
        try:
            fields[name] = msgspec.convert(value, _HINTS[name], strict=True)
        except msgspec.ValidationError as error:
            wrong.append(f"{name} is {shown(value)}: {plain(str(error))}")
    for field, rule in RULES:
        if field in fields:
            wrong += [f"{field} {complaint}" for complaint in rule(fields[field])]
    return fields, wrong


def _checked(raw: Mapping[str, Any]) -> JobSpec:
    fields, wrong = checked_fields(raw)
    wrong = [f"{name} is missing" for name in sorted(_REQUIRED - raw.keys())] + wrong
    if wrong:
        raise SpecError("; ".join(wrong))
    spec = JobSpec(**fields)
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


def _schema(value: int) -> Iterator[str]:
    if value != SCHEMA:
        yield f"is {shown(value)}; use {SCHEMA}"


def _command(value: list[str] | str) -> Iterator[str]:
    words = [value] if isinstance(value, str) else value
    if not words or not words[0].strip():
        yield "is empty; say what to run"
    if any("\0" in word for word in words):
        yield "holds a NUL character"
    if sum(len(word.encode("utf-8", "surrogatepass")) for word in words) > 128 * 1024:
        yield "is longer than 128 KiB; put it into a script"


def _setup(value: str) -> Iterator[str]:
    if "\0" in value or len(value) > 32 * 1024 or (value and not value.strip()):
        yield "is blank, holds a NUL character or more than 32 KiB; put it into a script of the bundle"


def _env(value: dict[str, str]) -> Iterator[str]:
    if len(value) > ENV_MAX:
        yield f"has {len(value)} entries; at most {ENV_MAX} are allowed"
    for name, text in value.items():
        if not ENV_NAME.fullmatch(name):
            yield f"has the name {shown(name)}; use letters, digits and '_', not beginning with a digit"
        elif name in IDENTITY or name.startswith("BASTION_"):
            yield f"sets {name}, which the worker sets itself; choose another name"
        if "\0" in text or len(text) > 32 * 1024:
            yield f"{shown(name)} holds a NUL character or more than 32 KiB"


def _resources(value: dict[str, int]) -> Iterator[str]:
    if len(value) > 16:
        yield f"names {len(value)} kinds; at most 16 are allowed"
    for kind, amount in value.items():
        if not KIND.fullmatch(kind):
            yield f"names the kind {shown(kind)}; use letters, digits, '.', '_' and '-'"
        elif not 1 <= amount <= AMOUNT_MAX:
            yield f"{kind} is {shown(amount)}; use a whole number from 1 to {AMOUNT_MAX}"


def _bundle(value: BundleRef) -> Iterator[str]:
    if value.type == "none":
        return
    if value.type == "git":
        yield from repo.faults(value.repo, value.commit, value.folder)
        if not value.key and not value.digest:
            return
    if not KIND.fullmatch(value.type) or not value.key or len(value.key) > 512:
        yield f"has type {shown(value.type)} and key {shown(value.key)}; name both"
    if not DIGEST.fullmatch(value.digest):
        yield f"digest is {shown(value.digest)}; use the SHA-256 in hexadecimal"


def _type(value: str) -> Iterator[str]:
    if value and not KIND.fullmatch(value):
        yield f"is {shown(value)}; use letters, digits, '.', '_' and '-'"


def _folder(value: str) -> Iterator[str]:
    if value and (len(value) > 1024 or "\0" in value or not ("://" in value or value.startswith("/"))):
        yield f"is {shown(value)}; use a URL or an absolute path"


def _provenance(value: Provenance) -> Iterator[str]:
    if max(map(len, (value.host, value.git_commit, value.client_version, value.parent))) > 256:
        yield "holds a text of more than 256 characters"


_WORD = "1 to 63 letters, digits, '.', '_' and '-', beginning and ending with a letter or digit, without '..'"

RULES: tuple[tuple[str, Callable[[Any], Iterator[str]]], ...] = (
    ("schema", _schema),
    ("name", named(NAME, _WORD)),
    ("user", named(USER, "1 to 64 letters, digits, '.', '_', '@', '+' and '-', without '..'")),
    ("project", named(NAME, _WORD)),
    ("command", _command),
    ("env", _env),
    ("resources", _resources),
    ("instance_type", _type),
    ("replicas", between(1, REPLICAS_MAX)),
    ("count", between(1, COUNT_MAX)),
    ("priority", between(1, 5, " (1 is the highest)")),
    ("max_tries", between(1, TRIES_MAX)),
    ("retry_interval_s", between(0, SECONDS_MAX, " seconds")),
    ("grace_s", between(0, GRACE_MAX_S, " seconds")),
    ("time_limit_s", between(1, SECONDS_MAX, " seconds")),
    ("bundle", _bundle),
    ("setup", _setup),
    ("output_dir", _folder),
    ("checkpoint_dir", _folder),
    ("provenance", _provenance),
)
