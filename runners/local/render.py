"""How a worker of this machine is named and started. Pure.

A worker has its machine's id in `BASTION_MACHINE`, and so has what it starts. That is for people and programs to read: what a
machine is, its entry in the registry says.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bastion.model.interfaces import AttemptKey, Machine

MARK = "BASTION_MACHINE"
DEVICES = "BASTION_DEVICES"
JOB = "BASTION_JOB"
"""In the environment of the user's processes, never in the worker's own."""


@dataclass(frozen=True, slots=True)
class Name:
    """A machine's id, in its parts. `nonce` is new at every creation."""

    scope: str
    key: AttemptKey
    worker: int
    epoch: int
    nonce: str

    def __str__(self) -> str:
        return f"{self.scope}|{self.key}/{self.worker}@{self.epoch}.{self.nonce}"

    @property
    def folder(self) -> Path:
        """Its work folder, below the root of all."""
        return Path(self.scope, self.key.job, str(self.key.task), str(self.key.attempt), f"{self.worker}-{self.nonce}")

    @property
    def machine(self) -> Machine:
        """As a listing shows it."""
        return Machine(id=str(self), key=self.key, worker=self.worker, epoch=self.epoch)


def parse(machine: str) -> Name | None:
    """The parts of an id; None if it is none of ours."""
    scope, _, rest = machine.rpartition("|")
    try:
        job, task, attempt, last = rest.split("/")
        worker, _, creation = last.partition("@")
        epoch, _, nonce = creation.partition(".")
        return Name(scope, AttemptKey(job, int(task), int(attempt)), int(worker), int(epoch), nonce)
    except ValueError:
        return None


def command(
    python: str, name: Name, bucket_url: str, folder: Path, devices: Iterable[str], **more: object
) -> list[str]:
    """The argv of a worker. Isolated (`-I`): no folder of the user's is on its path."""
    flags = {
        "machine": name,
        "job": name.key.job,
        "task": name.key.task,
        "attempt": name.key.attempt,
        "worker": name.worker,
        "address": "127.0.0.1",
        "bucket": bucket_url,
        "folder": folder,
        "devices": ",".join(devices),
        **more,
    }
    return [python, "-I", "-m", "bastion", "worker", *(f"--{flag}={value}" for flag, value in flags.items())]


def environment(inherited: Mapping[str, str], name: Name, devices: Iterable[str], own: str = "") -> dict[str, str]:
    """The worker's own: the bastion's, whose credentials it needs, without what names another job or machine, or leads jobs to
    the programs of the environment that the bastion is installed in, which are in the folder `own`.
    """
    kept = {key: value for key, value in inherited.items() if not key.startswith("BASTION_")}
    if own and "PATH" in kept:
        kept["PATH"] = ":".join(part for part in kept["PATH"].split(":") if part != own)
    return kept | {MARK: str(name), DEVICES: ",".join(devices)}
