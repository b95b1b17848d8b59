"""The bastion's settings: parse `config.toml` of the bucket, and write it. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from bastion.quota import toml_reader
from bastion.quota.toml_reader import TomlLines

from .. import layout
from ..errors import NewerVersion, RecordError
from ..job import image_ref
from ..job.alternatives import AMOUNT_MAX, KIND
from ..job.command_rules import SHELLS
from ..job.spec import USER
from ..nearest import did_you_mean
from ..version import CONFIG, VERSION
from ..wording import between, shown
from .tables import (
    GitSettings,
    GoogleSettings,
    JobLimits,
    UserLimits,
    faults_of_git,
    faults_of_google,
    faults_of_job_limits,
    faults_of_limits,
    faults_of_options,
    faults_of_placing,
    faults_of_runners,
    strays,
)

CONFIG_BYTES_MAX = 64 * 1024
POLICIES = ("default", "axlearn")
BUCKETS = (layout.PERMANENT, layout.TTL)
RETENTION = ("bundles_days", "logs_days", "outputs_days")
BUNDLES_DAYS = 30
LOGS_DAYS = 0
OUTPUTS_DAYS = 0
_DAYS_MAX = 36_500
_YEAR_S = 365 * 86_400.0
_ACCOUNT = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://[^\s\x00-\x1f]{1,1024}")


class Config(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The settings of one bastion. The fields are the keys of the file. Times are in seconds.

    schema: the number of this form.
    poll: time between two ticks.
    reclaim_delay: how long a project below its share waits for borrowers to end by themselves.
    gang_patience: a large job waits for twice of it before it takes back what was lent; 0.6 of it may a job be overtaken.
    restart_cost: work that a stop is taken to cost, beside work that was not saved.
    usage_half_life: after this time past usage counts for half as much; 0: it does not count.
    policy: one of `POLICIES`.
    runners: the runners. A job goes to the first that has all it asks for, unless `placing` names one.
    placing: the runner by kind or instance type; a list has one runner for each tier.
    runner_options: a table for each runner; the runner alone knows what may be in it.
    run_as: account of jobs' processes where root starts the workers. "": bastion-job if the machine has it, else root.
    admins: users who may stop everybody's jobs.
    capacity: the most that the runners may give away, by kind; empty: what they find.
    git: for bundles of type git.
    limits: the most that users may have and send.
    google: for the runners tpu and gce.
    job_limits: the most that a job may use on a machine.
    buckets: URLs of the permanent and the ttl bucket, where these differ from the file's own bucket.
    retention: days that bundles, logs and outputs are kept.
    default_shell: shell of jobs whose user names none. "": bash if the machine has it, else sh.
    docker_repo: registry and path, `host/path`, of images that name no registry.
    shared: group of accounts that share this machine as the fleet, `*` for all accounts: each job runs under its user's
        account. "": the machine is not shared.
    private_logs: on a shared machine, only a job's own account can read its logs and outputs.
    """

    schema: int = CONFIG
    poll: float = 1.0
    reclaim_delay: float = 90.0
    gang_patience: float = 10 * 3600.0
    restart_cost: float = 120.0
    usage_half_life: float = 7 * 86_400.0
    policy: str = "default"
    runners: list[str] = msgspec.field(default_factory=lambda: ["local"])
    placing: dict[str, str | list[str]] = {}
    runner_options: dict[str, dict[str, Any]] = {}
    run_as: str = ""
    admins: list[str] = []
    capacity: dict[str, int] = {}
    git: GitSettings = GitSettings()
    limits: UserLimits = UserLimits()
    google: GoogleSettings = GoogleSettings()
    job_limits: JobLimits = JobLimits()
    buckets: dict[str, str] = {}
    retention: dict[str, int] = {}
    default_shell: str = ""
    docker_repo: str = ""
    shared: str = ""
    private_logs: bool = False

    @property
    def bundles_days(self) -> int:
        """Return the days that bundles are kept; 0: for ever."""
        return self.retention.get("bundles_days", BUNDLES_DAYS)

    @property
    def logs_days(self) -> int:
        """Return the days that logs are kept; 0: for ever."""
        return self.retention.get("logs_days", LOGS_DAYS)

    @property
    def outputs_days(self) -> int:
        """Return the days that output folders in the bucket are kept; 0: for ever."""
        return self.retention.get("outputs_days", OUTPUTS_DAYS)


EVERYBODY = "*"
"""The value of `shared` that means all accounts of the machine."""

_LATER = frozenset(
    {"default_shell", "docker_repo", "request_bytes", "request_bytes_per_user", "shared", "private_logs"}
)
"""Settings that came later.

They are not written at their defaults, so that an older bastion can still read the file.
"""


def parse(text: str | bytes) -> Config:
    """Parse the text of a `config.toml`. Raises `RecordError` with every complaint and its line; `NewerVersion`."""
    if len(text) > CONFIG_BYTES_MAX:
        raise RecordError(f"config.toml is longer than {CONFIG_BYTES_MAX} bytes; make it shorter")
    try:
        text = text if isinstance(text, str) else text.decode()
        raw = toml_reader.loads(text)
    except toml_reader.TomlError as error:
        raise RecordError(f"config.toml is not TOML: line {error.line}: {error.what}") from error
    except ValueError as error:
        raise RecordError(f"config.toml is not TOML: {error}") from error
    schema = raw.get("schema", CONFIG)
    if isinstance(schema, int) and schema > CONFIG:
        raise NewerVersion(
            f"config.toml has schema {shown(schema)}; this is Bastion {VERSION}, which reads up to {CONFIG}: upgrade"
        )
    return _checked(raw, TomlLines(text))


def check(config: Config) -> list[str]:
    """Return every rule that the settings break; each complaint names its key."""
    wrong = [f"{key} {complaint}" for key, rule in _RULES.items() for complaint in rule(getattr(config, key))]
    return wrong + [f"{key} {complaint}" for key, complaint in _as_a_whole(config)]


def _as_a_whole(config: Config) -> Iterator[tuple[str, str]]:
    """Yield settings that contradict each other, each with the key to change."""
    yield from (("placing", complaint) for complaint in strays(config.placing, config.runners, config.policy))
    if not config.shared:
        return
    if config.runners != ["local"]:
        yield "shared", 'needs runners = ["local"]: other runners do not run a job as its user'
    if config.run_as:
        yield "shared", "runs each job as its user; leave run_as out"
    if config.buckets:
        yield "shared", "keeps everything in one folder; leave buckets out"


def render(config: Config) -> str:
    """Return the text of a `config.toml` with these settings."""
    fields = [field for field in config.__struct_fields__ if field not in _LATER or getattr(config, field)]
    values = {field: msgspec.to_builtins(getattr(config, field)) for field in fields}
    limits = msgspec.structs.asdict(config.limits)
    values["limits"] = {
        key: limits[key] for key in limits if key not in _LATER or limits[key] != getattr(UserLimits(), key)
    }
    lines = [f"{key} = {_toml(value)}" for key, value in values.items() if not isinstance(value, dict)]
    for key, table in values.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *(f"{json.dumps(name)} = {_toml(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    """Return a value as TOML. Only tables differ from JSON."""
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(inner)}" for name, inner in value.items()) + "}"
    return json.dumps(value)


_TYPES = {field.name: field.type for field in msgspec.structs.fields(Config)}


def _checked(raw: dict[str, Any], lines: TomlLines) -> Config:
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
    # with a wrong field there is nothing to check as a whole: defaults pass
    made = Config(**fields) if not wrong else Config()
    wrong += [(lines.of(key), f"{key} {complaint}") for key, complaint in _as_a_whole(made)]
    if wrong:
        raise RecordError(f"config.toml: {'; '.join(f'line {line}: {what}' for line, what in sorted(wrong))}")
    return made


def _use(known: Iterable[str]) -> str:
    return f"use {', '.join(known)}"


def _seconds(low: float, high: float) -> Callable[[float], Iterator[str]]:
    def rule(value: float) -> Iterator[str]:
        if not low <= value <= high:
            yield f"is {value:g}; use {low:g} to {high:.9g} seconds"

    return rule


def _one_of(known: tuple[str, ...]) -> Callable[[str], Iterator[str]]:
    def rule(value: str) -> Iterator[str]:
        if value not in known:
            yield f"is {shown(value)}; {did_you_mean(value, known, _use(known))}"

    return rule


def _run_as(value: str) -> Iterator[str]:
    if value and not _ACCOUNT.fullmatch(value):
        yield f"is {shown(value)}; use the name of an account on the machines"


def _shared(value: str) -> Iterator[str]:
    if value and value != EVERYBODY and not _ACCOUNT.fullmatch(value):
        yield f"is {shown(value)}; use the name of a group on the machine, or {EVERYBODY} for all accounts"


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
            yield f"{kind} is {shown(amount)}; use a whole number from 0 to {AMOUNT_MAX}"


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
            yield f"{name} is {shown(days)}; use a whole number of days from 0 (for ever) to {_DAYS_MAX}"


def _docker_repo(value: str) -> Iterator[str]:
    if value and (wrong := image_ref.fault(f"{value.rstrip('/')}/name")):
        yield wrong


_RULES: dict[str, Callable[[Any], Iterator[str]]] = {
    "schema": between(1, CONFIG),
    "poll": _seconds(0.05, 3600),
    "reclaim_delay": _seconds(0, 86_400),
    "gang_patience": _seconds(0, _YEAR_S),
    "restart_cost": _seconds(0, 86_400),
    "usage_half_life": _seconds(0, _YEAR_S),
    "policy": _one_of(POLICIES),
    "runners": faults_of_runners,
    "placing": faults_of_placing,
    "runner_options": faults_of_options,
    "run_as": _run_as,
    "admins": _admins,
    "capacity": _capacity,
    "buckets": _buckets,
    "retention": _retention,
    "git": faults_of_git,
    "limits": faults_of_limits,
    "google": faults_of_google,
    "job_limits": faults_of_job_limits,
    "default_shell": _one_of(SHELLS),
    "docker_repo": _docker_repo,
    "shared": _shared,
    "private_logs": lambda _: iter(()),
}
_EXPECTED = {
    "schema": str(CONFIG),
    "poll": "a number of seconds",
    "reclaim_delay": "a number of seconds",
    "gang_patience": "a number of seconds",
    "restart_cost": "a number of seconds",
    "usage_half_life": "a number of seconds",
    "policy": " or ".join(POLICIES),
    "runners": "a list of names, as in local, tpu, gce",
    "placing": 'a table of runners, as in v4 = "tpu", or of those of the tiers, as in h100 = ["slurm", "gce"]',
    "runner_options": "a table of tables, one for each runner",
    "run_as": "the name of an account on the machines",
    "admins": "a list of user names",
    "capacity": "a table of whole numbers, as in v4 = 8",
    "buckets": "a table of URLs, of permanent and ttl",
    "retention": "a table of whole days, of bundles_days, logs_days and outputs_days",
    "git": 'a table of paths, as in deploy_key = "/etc/bastion/deploy_key"; its keys are deploy_key and known_hosts',
    "google": f'a table, as in zones = ["us-central2-b"]; its keys are {", ".join(GoogleSettings().__struct_fields__)}',
    "limits": f"a table of whole numbers, as in jobs_per_user = 5000; its keys are {', '.join(UserLimits().__struct_fields__)}",
    "default_shell": "bash or sh",
    "shared": "the name of a group, or *",
    "private_logs": "true or false",
    "docker_repo": "a registry and a path, as in europe-docker.pkg.dev/project/images",
    "job_limits": f"a table of whole numbers, as in processes = 4096; its keys are {', '.join(JobLimits().__struct_fields__)}",
}
