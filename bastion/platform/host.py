"""This machine: its name, its boot, and whether the bastion of a status still runs here."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil

from ..model.errors import Forbidden
from ..model.stored.status import Status

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_ROUNDING_S = 2.0  # start times of processes are rounded


def name() -> str:
    """Return the machine's name in its network."""
    return platform.node()


def boot() -> str:
    """Return a name for the time since the machine was started. Process ids mean something only within it."""
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return f"{psutil.boot_time():.0f}"


def is_alive(pid: int) -> bool:
    """Return True if this machine has a process of this id. A zombie does not count."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def is_here(status: Status) -> bool:
    """Return True if the status was written on this machine since it was started."""
    return (status.host, status.boot) == (name(), boot())


def runs_here(status: Status) -> bool:
    """Return True if the process that wrote the status is alive on this machine.

    A later process with the same id does not count.
    """
    if not is_here(status):
        return False
    try:
        born: float = psutil.Process(status.pid).create_time()
        return is_alive(status.pid) and born <= status.written.timestamp() + _ROUNDING_S
    except psutil.Error:
        return False


def died(status: Status) -> bool:
    """Return True if a bastion of this machine ended without writing so into its status."""
    return status.state != "stopped" and is_here(status) and not runs_here(status)


def terminate(status: Status) -> None:
    """Send SIGTERM to the bastion that wrote the status on this machine. A process that is gone is no error.

    Raises `Forbidden` if it belongs to another account.
    """
    try:
        psutil.Process(status.pid).terminate()
    except psutil.NoSuchProcess:
        return
    except psutil.AccessDenied:
        raise Forbidden(f"bastion {status.name} (pid {status.pid}) belongs to another account; ask its owner") from None
