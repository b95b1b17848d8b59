"""The names and the command line of a worker of this machine. Pure.

A worker has its machine's id in `BASTION_MACHINE`, and so have the processes that it starts. The variable is for people
and programs to read. The entry in the registry defines the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bastion.model.interfaces import AttemptKey, Machine

MARK = "BASTION_MACHINE"
DEVICES = "BASTION_DEVICES"
JOB = "BASTION_JOB"
"""A variable of the user's processes, never of the worker's own."""


PRIVATE = "private"
"""The flag of a worker whose job's logs and outputs are readable by its account alone."""


@dataclass(frozen=True, slots=True)
class LocalMachineName:
    """A machine's id, in its parts.

    scope: the name of its bastion on this machine.
    key: the attempt.
    worker: the worker's number within the attempt.
    epoch: the epoch of the bastion that created it.
    nonce: new at every creation.
    """

    scope: str
    key: AttemptKey
    worker: int
    epoch: int
    nonce: str

    def __str__(self) -> str:
        return f"{self.scope}|{self.key}/{self.worker}@{self.epoch}.{self.nonce}"

    @property
    def folder(self) -> Path:
        """The work folder, below the root of all work folders."""
        return Path(self.scope, self.key.job, str(self.key.task), str(self.key.attempt), f"{self.worker}-{self.nonce}")

    @property
    def machine(self) -> Machine:
        """The machine as a listing shows it."""
        return Machine(id=str(self), key=self.key, worker=self.worker, epoch=self.epoch)


def parse(machine: str) -> LocalMachineName | None:
    """Return the parts of an id; None if it is not one of ours."""
    scope, _, rest = machine.rpartition("|")
    try:
        job, task, attempt, last = rest.split("/")
        worker, _, creation = last.partition("@")
        epoch, _, nonce = creation.partition(".")
        return LocalMachineName(scope, AttemptKey(job, int(task), int(attempt)), int(worker), int(epoch), nonce)
    except ValueError:
        return None


def command(
    python: str, name: LocalMachineName, bucket_url: str, folder: Path, devices: Iterable[str], **more: object
) -> list[str]:
    """Return the argv of a worker. Isolated (`-I`): no folder of the user is on its path."""
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


def environment(
    inherited: Mapping[str, str], name: LocalMachineName, devices: Iterable[str], own: str = ""
) -> dict[str, str]:
    """Return the worker's environment: the bastion's own, because it needs the same credentials, with exceptions.

    What names another job or machine is left out. So is the folder `own` on the PATH: it would lead jobs to the
    programs of the environment in which the bastion is installed.
    """
    kept = {key: value for key, value in inherited.items() if not key.startswith("BASTION_")}
    if own and "PATH" in kept:
        kept["PATH"] = ":".join(part for part in kept["PATH"].split(":") if part != own)
    return kept | {MARK: str(name), DEVICES: ",".join(devices)}
