"""What a worker finds out and lays out on its own machine of Google's before it begins."""

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
    """A file system: where it is mounted, and how many bytes are free on it."""

    path: Path
    free: int


def flags(home: Path, look: Callable[[], Mapping[str, Any]], clock: Clock, shell: Shell) -> dict[str, str]:
    """What else a worker is told here: who it is, and where its folders are. Makes the account of its job.

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
    """Where jobs work: at home, unless another disk has more room."""
    best = max((home, *others), key=lambda disk: disk.free)
    return home.path if best is home else best.path / "bastion"


def make_account(name: str, shell: Shell) -> None:
    """Have an account of this name, with a home. Raises `RunnerError`."""
    with suppress(KeyError):
        pwd.getpwnam(name)
        return
    said = shell.run(["useradd", "--create-home", "--shell=/bin/sh", "--", name], limit_s=_LIMIT_S)
    if said.code:
        raise RunnerError(f"this machine makes no account {name!r}: {' '.join(said.err.split())[-300:]}; change run_as")


def _patiently(look: Callable[[], Mapping[str, Any]], clock: Clock) -> Mapping[str, Any]:
    """The metadata server may come up later than we do."""
    for _ in range(_TRIES - 1):
        with suppress(RunnerError):
            return look()
        clock.sleep(_PAUSE_S)
    return look()


def _disks(but: int) -> Iterable[Disk]:
    """The disks, but that of this number, that programs can be written to and started from."""
    for mount in psutil.disk_partitions(all=False):
        options = set(mount.opts.split(","))
        with suppress(OSError):
            if "rw" in options and "noexec" not in options and os.stat(mount.mountpoint).st_dev != but:
                yield Disk(Path(mount.mountpoint), psutil.disk_usage(mount.mountpoint).free)
