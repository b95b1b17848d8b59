"""Machines of a bastion before 0.2, which had no registry: only the mark in their environments identified them.

They are registered once, so that they run on under the new version. A mark counts in a process of our own account that
was started as a worker, for a work folder that exists. The first time that this bastion has a registry, it also counts
in what such workers had left behind. After that it counts for nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from bastion.model.errors import RunnerError

from . import process_marks
from .registry import COMMAND, KEEPER, MachineRecord, Registry, register
from .render import parse


def adopt(registry: Registry, scope: str, work_root: Path) -> int:
    """Register the marked machines of this scope that are not registered. Return how many. Raises `RunnerError`."""
    first = _is_first(registry, scope)
    if not (work_root / scope).is_dir():
        return 0
    known = {entry.name.nonce for entry in registry.entries()}
    found: dict[str, list[process_marks.MarkedProcess]] = {}
    for process in sorted(process_marks.scan(), key=lambda one: one.users):
        name = parse(process.machine)
        if name is None or name.scope != scope or name.nonce in known or not (work_root / name.folder).is_dir():
            continue
        if _is_worker(process) or first:
            found.setdefault(name.nonce, []).append(process)
    for processes in found.values():
        _enter(registry, processes)
    return len(found)


def _enter(registry: Registry, processes: Iterable[process_marks.MarkedProcess]) -> None:
    """Register one machine, from its worker's environment; from what it left behind if the worker has crashed."""
    head, *_ = processes = list(processes)
    name = parse(head.machine)
    assert name is not None
    try:
        entry = registry.add(name, MachineRecord(head.machine, registry.boot, devices=head.devices))
        for process in processes:
            if process.machine == head.machine:
                register(entry.folder, KEEPER if _is_worker(process) else COMMAND, process.pid)
    except OSError as error:
        raise RunnerError(f"cannot register {head.machine}, which an older bastion started: {error}") from error


def _is_worker(process: process_marks.MarkedProcess) -> bool:
    """Return True for a process that a bastion of this account started as the worker of just this machine."""
    with suppress(OSError):
        with open(f"/proc/{process.pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
        ours = os.stat(f"/proc/{process.pid}").st_uid == os.geteuid()
        return ours and not process.users and b"worker" in words and f"--machine={process.machine}".encode() in words
    return False


def _is_first(registry: Registry, scope: str) -> bool:
    """Return True once for a bastion, and make the marker that remembers it."""
    marker = registry.root / f"new-{scope}"
    try:
        registry.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(marker, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        return False
    except OSError as error:
        raise RunnerError(f"cannot store the list of machines in {registry.root}: {error}") from error
    return True
