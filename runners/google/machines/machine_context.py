"""The preparation of a worker's own Google machine, before the worker starts."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Clock, Shell

from ...delivery.bootstrap import flags_of

SECRETS = "/etc/bastion/secrets"
_TRIES, _PAUSE_S = 60, 2.0
_LIMIT_S = 60.0


@dataclass(frozen=True, slots=True)
class Disk:
    """A file system.

    path: where it is mounted.
    free: the bytes that are free on it.
    """

    path: Path
    free: int


def flags(home: Path, look: Callable[[], Mapping[str, Any]], clock: Clock, shell: Shell) -> dict[str, str]:
    """Return the worker's flags that only the machine knows: its identity and its folders. Create its job's account.

    `home` is a folder on the machine's own disk. Raises `RunnerError`.
    """
    told = flags_of(_patiently(look, clock))
    if told.get("run_as"):
        make_account(told["run_as"], shell)
    root = roomiest(Disk(home, psutil.disk_usage(str(home)).free), _disks(but=os.stat(home).st_dev))
    attempt = Path(told["job"], told["task"], told["attempt"], told["worker"])
    folder, cache = root / "work" / attempt, root / "setups"
    folder.mkdir(parents=True, exist_ok=True)
    places = {"folder": str(folder), "cache": str(cache), "secrets": SECRETS}
    return {"devices": "share:0/1", **places, **told}


def roomiest(home: Disk, others: Iterable[Disk]) -> Path:
    """Return the folder where jobs work: home, unless another disk has more room."""
    best = max((home, *others), key=lambda disk: disk.free)
    return home.path if best is home else best.path / "bastion"


def make_account(name: str, shell: Shell) -> None:
    """Create an account of this name with a home, unless it exists. Raises `RunnerError`."""
    with suppress(KeyError):
        pwd.getpwnam(name)
        return
    said = shell.run(["useradd", "--create-home", "--shell=/bin/sh", "--", name], limit_s=_LIMIT_S)
    if said.code:
        raise RunnerError(
            f"this machine cannot create the account {name!r}: {' '.join(said.err.split())[-300:]}; change run_as"
        )


def _patiently(look: Callable[[], Mapping[str, Any]], clock: Clock) -> Mapping[str, Any]:
    """Read the metadata, and retry for a while: the metadata server may start later than the worker."""
    for _ in range(_TRIES - 1):
        with suppress(RunnerError):
            return look()
        clock.sleep(_PAUSE_S)
    return look()


def _disks(but: int) -> Iterable[Disk]:
    """Yield the disks that programs can be written to and started from, except the device with this number."""
    for mount in psutil.disk_partitions(all=False):
        options = set(mount.opts.split(","))
        with suppress(OSError):
            if "rw" in options and "noexec" not in options and os.stat(mount.mountpoint).st_dev != but:
                yield Disk(Path(mount.mountpoint), psutil.disk_usage(mount.mountpoint).free)
