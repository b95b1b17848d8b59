"""The bastion's settings: `config.toml` in the bucket, to a value and back. Pure."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from bastion import layout
from bastion.codec import SCHEMA
from bastion.errors import Newer, RecordError
from bastion.nearest import did_you_mean
from bastion.spec import AMOUNT_MAX, KIND, USER
from bastion.wording import shown
from quota.lines import Lines

CONFIG_BYTES_MAX = 64 * 1024
RUNNERS = ("local",)
POLICIES = ("default", "axlearn")
BUCKETS = (layout.PERMANENT, layout.TTL)
RETENTION = ("bundles_days", "logs_days")
BUNDLES_DAYS = 30
LOGS_DAYS = 0
_DAYS_MAX = 36_500
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\x00-\x1f]{1,1024}")


class Git(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What machines give git to reach private repositories: absolute paths of files on the machines; "" for none."""

    deploy_key: str = ""
    known_hosts: str = ""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one bastion works. The fields are the file's words; times are in seconds.

    `poll` lies between two ticks. `reclaim_delay` is how long a project below its share waits for borrowers to end by
    themselves. `capacity` is what the runner may give away. `admins` may stop everybody's jobs.
    `buckets` are the URLs of the permanent and the ttl bucket, where these are not the one that the file lies in.
    `retention` is how many days bundles and logs are kept. `git` is for bundles of that type.
    """

    schema: int = SCHEMA
    poll: float = 1.0
    reclaim_delay: float = 90.0
    policy: str = "default"
    runner: str = "local"
    admins: list[str] = []
    capacity: dict[str, int] = {}
    git: Git = Git()
    buckets: dict[str, str] = {}
    retention: dict[str, int] = {}

    @property
    def bundles_days(self) -> int:
        """Days that bundles are kept; 0: for ever."""
        return self.retention.get("bundles_days", BUNDLES_DAYS)

    @property
    def logs_days(self) -> int:
        """Days that logs are kept; 0: for ever."""
        return self.retention.get("logs_days", LOGS_DAYS)


def parse(text: str | bytes) -> Config:
    """The settings in the text of a `config.toml`. Raises `RecordError` with every complaint and its line; `Newer`."""
    if len(text) > CONFIG_BYTES_MAX:
        raise RecordError(f"config.toml is longer than {CONFIG_BYTES_MAX}; settings take less")
    try:
        text = text if isinstance(text, str) else text.decode()
        raw = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # bad TOML, bad UTF-8, a number of 5,000 digits
        raise RecordError(f"config.toml is not TOML: {error}") from error
    schema = raw.get("schema", SCHEMA)
    if isinstance(schema, int) and schema > SCHEMA:
        raise Newer(f"config.toml has schema {schema}, and this version of Bastion reads up to {SCHEMA}: upgrade")
    return _checked(raw, Lines(text))


def check(config: Config) -> list[str]:
    """Every rule that the settings break, each complaint naming its key."""
    return [f"{key} {complaint}" for key, rule in _RULES.items() for complaint in rule(getattr(config, key))]


def render(config: Config) -> str:
    """The text of a `config.toml` that holds these settings."""
    values = {field: msgspec.to_builtins(getattr(config, field)) for field in config.__struct_fields__}
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items() if not isinstance(value, dict)]
    for key, table in values.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


_TYPES = {field.name: field.type for field in msgspec.structs.fields(Config)}


def _checked(raw: dict[str, Any], lines: Lines) -> Config:
    fields: dict[str, Any] = {}
    wrong: list[tuple[int, str]] = []
    for key, value in raw.items():
        if key not in _TYPES:
            complaint = f"{shown(key)} is not a setting; {did_you_mean(key, _TYPES, _use(_TYPES))}"
            wrong.append((lines.of(key), complaint))
            continue
        try:
            fields[key] = msgspec.convert(value, _TYPES[key], strict=True)
        except msgspec.ValidationError:
            wrong.append((lines.of(key), f"{key} is {shown(value)}; use {_EXPECTED[key]}"))
    for key, value in fields.items():
        wrong += [(lines.of(key), f"{key} {complaint}") for complaint in _RULES[key](value)]
    if wrong:
        raise RecordError(f"config.toml: {'; '.join(f'line {line}: {what}' for line, what in sorted(wrong))}")
    return Config(**fields)


def _use(known: Iterable[str]) -> str:
    return f"use {', '.join(known)}"


def _seconds(low: float, high: float) -> Callable[[float], Iterator[str]]:
    def rule(value: float) -> Iterator[str]:
        if not low <= value <= high:
            yield f"is {value:g}; use {low:g} to {high:g} seconds"

    return rule


def _one_of(known: tuple[str, ...]) -> Callable[[str], Iterator[str]]:
    def rule(value: str) -> Iterator[str]:
        if value not in known:
            yield f"is {shown(value)}; {did_you_mean(value, known, _use(known))}"

    return rule


def _schema(value: int) -> Iterator[str]:
    if value != SCHEMA:
        yield f"is {value}; use {SCHEMA}"


def _admins(value: list[str]) -> Iterator[str]:
    if len(value) > 1_000:
        yield f"names {len(value)} users; at most 1000 are allowed"
    for user in value:
        if not USER.fullmatch(user) or ".." in user:
            yield f"names the user {shown(user)}; use 1 to 64 letters, digits, '.', '_', '@', '+' and '-'"


def _capacity(value: dict[str, int]) -> Iterator[str]:
    if len(value) > 64:
        yield f"names {len(value)} kinds; at most 64 are allowed"
    for kind, amount in value.items():
        if not KIND.fullmatch(kind):
            yield f"names the kind {shown(kind)}; use letters, digits, '.', '_' and '-'"
        elif not 0 <= amount <= AMOUNT_MAX:
            yield f"{kind} is {amount}; use a whole number from 0 to {AMOUNT_MAX}"


def _buckets(value: dict[str, str]) -> Iterator[str]:
    for name, url in value.items():
        if name not in BUCKETS:
            yield f"names {shown(name)}; {did_you_mean(name, BUCKETS, _use(BUCKETS))}"
        elif not _URL.fullmatch(url):
            yield f"{name} is {shown(url)}; use a URL, as in s3://bucket/prefix"


def _retention(value: dict[str, int]) -> Iterator[str]:
    for name, days in value.items():
        if name not in RETENTION:
            yield f"names {shown(name)}; {did_you_mean(name, RETENTION, _use(RETENTION))}"
        elif not 0 <= days <= _DAYS_MAX:
            yield f"{name} is {days}; use a whole number of days from 0 (for ever) to {_DAYS_MAX}"


def _git(value: Git) -> Iterator[str]:
    for key, path in msgspec.structs.asdict(value).items():
        if path and (not path.startswith("/") or len(path) > 1024 or not path.isprintable() or '"' in path):
            yield f"{key} is {shown(path)}; use the absolute path of a file on the machines"


_RULES: dict[str, Callable[[Any], Iterator[str]]] = {
    "schema": _schema,
    "poll": _seconds(0.05, 3600),
    "reclaim_delay": _seconds(0, 86_400),
    "policy": _one_of(POLICIES),
    "runner": _one_of(RUNNERS),
    "admins": _admins,
    "capacity": _capacity,
    "buckets": _buckets,
    "retention": _retention,
    "git": _git,
}
_EXPECTED = {
    "schema": str(SCHEMA),
    "poll": "a number of seconds",
    "reclaim_delay": "a number of seconds",
    "policy": " or ".join(POLICIES),
    "runner": " or ".join(RUNNERS),
    "admins": "a list of user names",
    "capacity": "a table of whole numbers, as in v4 = 8",
    "buckets": "a table of URLs, of permanent and ttl",
    "retention": "a table of whole days, of bundles_days and logs_days",
    "git": 'a table of paths, as in deploy_key = "/etc/bastion/deploy_key"; its keys are deploy_key and known_hosts',
}
