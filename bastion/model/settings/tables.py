"""The tables of `config.toml`: what each may hold, and complaints about what is wrong. Pure.

They are about the machines and the processes there, the limits of users, Google's clouds, and the runners. Only an
installation knows which runners exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import SpecError
from ..job.alternatives import KIND
from ..job.spec import TIER_MAX
from ..nearest import did_you_mean
from ..wording import one_line, shown

Placing = Mapping[str, str | Sequence[str]]
"""The runner for each kind or instance type.

A list names the runners of the tiers 0, 1, ...; its last one also counts for all further tiers.
"""

RUNNER = re.compile(r"[a-z][a-z0-9_-]{0,31}")
BUYING = ("reserved", "on-demand", "spot", "flex-start")
"""The ways to get machines.

reserved: from a reservation.
on-demand: at list price.
spot: until Google wants them back.
flex-start: for a limited time, once there are some.
"""

_RUNNERS_MAX = 32
_DEPTH_MAX = 16  # deeper than a pod's affinity in its template
_PLACED_MAX = 256
_BOUNDS = {"memory": (0, 1_000_000), "processes": (0, 4_194_304), "open_files": (256, 1_048_576)}
_MOST, _BYTES_MOST = 10_000_000, 10**12
_PROJECT = re.compile(r"([a-z][a-z0-9-]{4,28}[a-z0-9])|([a-z0-9.-]{1,60}:[a-z][a-z0-9-]{4,28}[a-z0-9])|")
_ZONE = re.compile(r"[a-z]{2,30}-[a-z]{3,30}[0-9]{1,2}-[a-z]{1,3}[0-9]{0,2}[a-z]?")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,399}")
_ACCOUNT = re.compile(r"([A-Za-z0-9._-]{1,100}@[A-Za-z0-9.-]{1,150})|")


class GitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files on the machines with which git reaches private repositories. Paths are absolute.

    deploy_key: the private key; "" for none.
    known_hosts: the known hosts of ssh; "" for none.
    """

    deploy_key: str = ""
    known_hosts: str = ""


class JobLimits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most that the processes of one worker may use.

    memory: GiB of all processes together; 0: no limit. A job that asks for `memory` gets no more than it asks for, and
        no more than this.
    processes: number of processes, with threads; 0: no limit.
    open_files: open files of each process.
    """

    memory: int = 0
    processes: int = 16_384
    open_files: int = 65_536


class UserLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The most that users may have and send.

    jobs: jobs of all users that have not ended.
    jobs_per_user: jobs of one user that have not ended.
    tasks: tasks of the jobs of all users that have not ended.
    tasks_per_user: tasks of one user's jobs that have not ended.
    requests: requests of all users a day (UTC).
    requests_per_user: requests of one user a day.
    request_bytes: bytes of the requests of all users a day.
    request_bytes_per_user: bytes of one user's requests a day.
    """

    jobs: int = 200_000
    jobs_per_user: int = 20_000
    tasks: int = 1_000_000
    tasks_per_user: int = 200_000
    requests: int = 500_000
    requests_per_user: int = 100_000
    request_bytes: int = 2**30
    request_bytes_per_user: int = 2**28


class GoogleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of the runners tpu and gce: where and how they get machines.

    project: id of the Google Cloud project.
    zones: tried in this order.
    network: the machines' network; "": the default one.
    subnetwork: the machines' subnetwork; "": the default one.
    service_account: the workers' account; "": the project's default one.
    tiers: how machines of each tier of the quota file are had; the last entry also counts for all further tiers.
    reservations: names of reservations, by kind of resource.
    images: names by kind of what machines boot from: a runtime version for TPUs, an image or its family for VMs.
    disk_gb: size of a machine's disk, in GB.
    vm_zone: zone of the bastion's own VM; "": it has none.
    """

    project: str = ""
    zones: list[str] = []
    network: str = ""
    subnetwork: str = ""
    service_account: str = ""
    tiers: list[str] = msgspec.field(default_factory=lambda: ["on-demand"])
    reservations: dict[str, str] = {}
    images: dict[str, str] = {}
    disk_gb: int = 200
    vm_zone: str = ""

    def bought(self, tier: int) -> str:
        """Return how machines of this tier, counted from 0, are had."""
        return self.tiers[min(tier, len(self.tiers) - 1)]


def faults_of_git(value: GitSettings) -> Iterator[str]:
    """Check the files for git; yield complaints."""
    for key, path in msgspec.structs.asdict(value).items():
        if path and (not path.startswith("/") or len(path) > 1024 or not path.isprintable() or '"' in path):
            yield f"{key} is {shown(path)}; use the absolute path of a file on the machines"


def faults_of_job_limits(value: JobLimits) -> Iterator[str]:
    """Check the limits; yield those that are out of bounds."""
    for name, (low, high) in _BOUNDS.items():
        if not low <= (most := getattr(value, name)) <= high:
            yield f"{name} is {shown(most)}; use a whole number from {low} to {high}"


def faults_of_limits(limits: UserLimits) -> Iterator[str]:
    """Check these limits; yield complaints."""
    for name in limits.__struct_fields__:
        highest = _BYTES_MOST if name.startswith("request_bytes") else _MOST
        if not 1 <= (most := getattr(limits, name)) <= highest:
            yield f"{name} is {shown(most)}; use a whole number from 1 to {highest}"


def faults_of_google(google: GoogleSettings) -> Iterator[str]:
    """Check these settings; yield complaints."""
    if not _PROJECT.fullmatch(google.project):
        yield f"project is {shown(google.project)}; use a project's id, as in my-project-1"
    for zone in google.zones:
        if not _ZONE.fullmatch(zone):
            yield f"zones has {shown(zone)}; use zones, as in us-central2-b"
    if google.vm_zone and not _ZONE.fullmatch(google.vm_zone):
        yield f"vm_zone is {shown(google.vm_zone)}; use a zone, as in us-central1-a"
    if len(set(google.zones)) != len(google.zones):
        yield "zones names one twice; leave one out"
    for key in ("network", "subnetwork"):
        if (name := getattr(google, key)) and not _NAME.fullmatch(name):
            yield f"{key} is {shown(name)}; use its name, or projects/P/…/NAME"
    if not _ACCOUNT.fullmatch(google.service_account):
        yield f"service_account is {shown(google.service_account)}; use its e-mail address"
    if not google.tiers:
        yield 'tiers is empty; say how to get machines, as in ["on-demand"]'
    for how in google.tiers:
        if how not in BUYING:
            # chr(44) is a comma: an f-string of Python 3.11 cannot use its own quotes inside
            yield f"tiers has {shown(how)}; {did_you_mean(how, BUYING, f'use {chr(44).join(BUYING)}')}"
    for key in ("reservations", "images"):
        yield from _names(key, getattr(google, key))
    if not 10 <= google.disk_gb <= 65_536:
        yield f"disk_gb is {shown(google.disk_gb)}; use 10 to 65536"


def _names(key: str, names: Mapping[str, str]) -> Iterator[str]:
    for kind, name in names.items():
        if not _NAME.fullmatch(name):
            yield f"{key}.{shown(kind)} is {shown(name)}; use its name"


def faults_of_runners(value: list[str]) -> Iterator[str]:
    """Check the list of runners; yield complaints."""
    if not value or len(set(value)) != len(value):
        yield "is empty, or names one twice; use each runner once"
    if len(value) > _RUNNERS_MAX:
        yield f"names {len(value)} runners; at most {_RUNNERS_MAX} are allowed"
    for runner in value:
        if not RUNNER.fullmatch(runner):
            yield f"has {shown(runner)}; use the names of runners, as in local"


def faults_of_placing(value: Placing) -> Iterator[str]:
    """Check the runners by kind and instance type; yield complaints."""
    if len(value) > _PLACED_MAX:
        yield f"has {len(value)} rows; at most {_PLACED_MAX} are allowed"
    for key, row in value.items():
        if not 1 <= len(row) <= TIER_MAX + 1 and not isinstance(row, str):
            yield f"names {len(row)} runners for {shown(key)}; use one, or 1 to {TIER_MAX + 1} for the tiers"
        if not KIND.fullmatch(key):
            yield f"has {shown(key)}; use kinds and instance types, as in v4 and tpu-v4-32"
        elif fault := _fault_of_type(key):
            yield f"has {shown(key)}: {fault}"


def _fault_of_type(key: str) -> str:
    """Return what is wrong with a name of the form of an instance type; empty for any other name.

    The families of instances are loaded here, because few bastions place anything.
    """
    from ..job.instances import KINDS, resources

    if not key.startswith(tuple(f"{family}-" for family in KINDS)):
        return ""
    try:
        resources(key)
    except SpecError as error:
        return str(error)
    return ""


def row_of(row: str | Sequence[str]) -> Sequence[str]:
    """Return the runners of a row of placing, by tier."""
    return [row] if isinstance(row, str) else row


def strays(placing: Placing, runners: Sequence[str], policy: str) -> Iterator[str]:
    """Check placing against these runners and this policy; yield complaints."""
    for key, row in placing.items():
        for runner in dict.fromkeys(row_of(row)):
            if runner not in runners:
                use = f"use one of runners: {', '.join(runners)}"
                yield f"sends {key} to {shown(runner)}; {did_you_mean(runner, runners, use)}"
        if policy == "axlearn" and len({*row_of(row)}) > 1:
            yield f"sends tiers of {key} to several runners, but policy axlearn needs one for all; use policy default"


def faults_of_options(value: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Check the runners' tables, without knowing what they mean to their runners; yield complaints."""
    if len(value) > _RUNNERS_MAX:
        yield f"has {len(value)} tables; at most {_RUNNERS_MAX} are allowed"
    for runner, table in value.items():
        if not RUNNER.fullmatch(runner):
            yield f"has {shown(runner)}; use the names of runners, as in local"
        yield from _odd(runner, table, 0)


def _odd(path: str, value: Any, depth: int) -> Iterator[str]:
    """Yield values that no runner can take: dates, NaN and infinity, and tables that are nested too deep."""
    if depth > _DEPTH_MAX:
        yield f"{one_line(path, 60)} is more than {_DEPTH_MAX} tables deep; use fewer"
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _odd(f"{path}.{key}", inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _odd(path, inner, depth + 1)
    elif not isinstance(value, str | int | float) or value != value or value in (float("inf"), float("-inf")):
        yield f"{one_line(path, 60)} is {shown(value)}; use texts, numbers, true and false, and lists and tables of them"
