"""The name of a machine on a Ray cluster, and the requests that start it. Pure.

A machine is one Ray job. Its submission id is the machine's id, and holds all that we store about it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from bastion.model.interfaces import AttemptKey, Machine, Placement
from bastion.model.job.instances import KINDS
from bastion.quota.resources import Resources

from .settings import RaySettings

NEEDS = "bastion-needs"
"""The key in a job's metadata of what it needs of one node, under Ray's names: Ray does not list that."""

STOP_S = 10**7
"""Seconds that Ray waits between its SIGTERM and its SIGKILL: the worker gives the grace, not Ray."""

_ID = re.compile(
    r"bastion~(?P<scope>[^~/]{1,100})~(?P<job>[^~/]{1,100})~(?P<task>[0-9]{1,9})~(?P<attempt>[0-9]{1,9})"
    r"~(?P<worker>[0-9]{1,6})~(?P<epoch>[0-9]{1,12})~(?P<session>[0-9a-f]{8})~(?P<nonce>[0-9a-f]{32})"
)
_PLAIN = {"cpu": "CPU", "memory": "memory", "gpu": "GPU"}
_GIB = 2**30
_TRACE = 0.001
"""The amount of `accelerator_type:H100` that a job takes: Ray gives each node one of it, for any number of jobs."""


@dataclass(frozen=True, slots=True)
class RayJobName:
    """A machine's id, in its parts.

    scope: the name of the bastion.
    key: the attempt.
    worker: the worker's number within the attempt.
    epoch: the epoch of the bastion that created it.
    session: the mark of the head's session for which it was created.
    nonce: new at every creation.
    """

    scope: str
    key: AttemptKey
    worker: int
    epoch: int
    session: str
    nonce: str

    def __str__(self) -> str:
        key = f"{self.key.job}~{self.key.task}~{self.key.attempt}"
        return f"bastion~{self.scope}~{key}~{self.worker}~{self.epoch}~{self.session}~{self.nonce}"

    @property
    def folder(self) -> Path:
        """The work folder, below the root of all work folders."""
        return Path(self.scope, self.key.job, str(self.key.task), str(self.key.attempt), f"{self.worker}-{self.nonce}")

    def machine(self, *, seen: bool, doomed: bool, ours: bool) -> Machine:
        """Return the machine as a listing shows it. `ours`: its nonce is proved."""
        return Machine(
            id=str(self),
            key=self.key,
            worker=self.worker,
            epoch=self.epoch,
            seen=seen,
            doomed=doomed and ours,
            ours=ours,
            origin=f"Ray job {self}",
        )


def parse(submission_id: str) -> RayJobName | None:
    """Return the parts of an id; None if it is not one of ours."""
    found = _ID.fullmatch(submission_id)
    if found is None:
        return None
    key = AttemptKey(found["job"], int(found["task"]), int(found["attempt"]))
    return RayJobName(found["scope"], key, int(found["worker"]), int(found["epoch"]), found["session"], found["nonce"])


def session_mark(session: str) -> str:
    """Return the mark of a Ray session in ids: a head that starts without its old state begins another session."""
    return sha256(session.encode()).hexdigest()[:8]


def ray_name(kind: str, table: Mapping[str, str]) -> str:
    """Return Ray's name for one of our kinds; `GPU:H100` for GPUs on nodes of this accelerator type."""
    usual = f"GPU:{kind.upper()}" if kind in KINDS["gpu"] else kind
    return table.get(kind) or _PLAIN.get(kind, usual)


def needs(resources: Resources, table: Mapping[str, str]) -> dict[str, float]:
    """Return what one worker needs of one node, under Ray's names and in Ray's units."""
    out: dict[str, float] = {}
    for kind, amount in sorted(resources.items()):
        name, _, model = ray_name(kind, table).partition(":")
        out[name] = amount * _GIB if name == "memory" else amount
        if model:
            out[f"accelerator_type:{model}"] = _TRACE
    return {name: amount for name, amount in out.items() if amount}


def submission(
    name: RayJobName, placement: Placement, bucket_url: str, settings: RaySettings, flags: Mapping[str, object]
) -> dict[str, Any]:
    """Return the body of the request that starts a machine's worker on a node with room for it."""
    wanted = needs(placement.resources, settings.resources)
    return {
        "submission_id": str(name),
        "entrypoint": _host(settings, machine=name, bucket=bucket_url, gpus=int(wanted.get("GPU", 0)), **flags),
        "metadata": {NEEDS: json.dumps(wanted, sort_keys=True)},
        "runtime_env": {"env_vars": {"RAY_JOB_STOP_WAIT_TIME_S": str(STOP_S)}},
        "entrypoint_num_cpus": wanted.pop("CPU", 0),
        "entrypoint_num_gpus": wanted.pop("GPU", 0),
        "entrypoint_memory": int(wanted.pop("memory", 0)),
        "entrypoint_resources": wanted,
    }


def removal(machine: str, node: str, settings: RaySettings) -> dict[str, Any]:
    """Return the body of the request that kills a machine on its node: Ray's own stop begins with a notice.

    Its name never changes, so Ray starts it once.
    """
    return {
        "submission_id": removal_of(machine),
        "entrypoint": _host(settings, kill=machine),
        "entrypoint_label_selector": {"ray.io/node-id": node},
    }


def removal_of(machine: str) -> str:
    """Return the name of the job that kills a machine."""
    return f"kill~{machine}"


def _host(settings: RaySettings, **flags: object) -> str:
    words = [settings.python, "-I", "-m", "bastion", "ray-host", f"--root={settings.folder}"]
    return "exec " + shlex.join([*words, *(f"--{flag}={value}" for flag, value in flags.items())])
