"""The processes that carry a mark: one scan of /proc, without any memory of what was started."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

import psutil

from bastion.model.errors import RunnerError

from .render import DEVICES, JOB, MARK

_MARK = MARK.encode() + b"="
_DEVICES = DEVICES.encode() + b"="
_JOB = JOB.encode() + b"="
_ASKED, _EXEC_S = 100, 0.001


@dataclass(frozen=True, slots=True)
class MarkedProcess:
    """A live process with a mark.

    pid: its number.
    machine: the machine's id, from the mark.
    devices: the machine's GPUs.
    users: True for a process of the user, False for the worker.
    """

    pid: int
    machine: str
    devices: tuple[str, ...]
    users: bool


def scan(proc: str = "/proc") -> list[MarkedProcess]:
    """Return all live processes of this account that carry a mark. A zombie has none. `RunnerError` without a /proc."""
    try:
        pids = [name for name in os.listdir(proc) if name.isdigit()]
    except OSError as error:
        raise RunnerError(f"cannot list processes: {error}; the local runner needs Linux's /proc") from error
    return [marked for pid in pids if (marked := _marked(proc, pid))]


def _marked(proc: str, pid: str) -> MarkedProcess | None:
    data = _settled(proc, pid)
    machine = _value(data, _MARK) if _MARK in data else None
    if machine is None:
        return None
    devices = tuple(filter(None, (_value(data, _DEVICES) or "").split(",")))
    return MarkedProcess(int(pid), machine, devices, _value(data, _JOB) is not None)


def _settled(proc: str, pid: str) -> bytes:
    """Return the environment of a process.

    In the middle of an exec it reads as empty, for well under a millisecond. Then it is read again, or a scan would
    overlook a live process. If it is empty after the exec, it was cleared.
    """
    after = False
    for _ in range(_ASKED):
        try:
            data = _read(f"{proc}/{pid}/environ")
            if data or after:
                return data
            after = not _in_exec(proc, pid)
        except OSError:  # it ended, belongs to another account, or has no program: a kernel thread, a zombie
            break
        if not after:
            time.sleep(_EXEC_S)
    return b""


def _in_exec(proc: str, pid: str) -> bool:
    """Return True if the process has a program but no arguments yet; the kernel sets those before the environment."""
    os.readlink(f"{proc}/{pid}/exe")
    return not _read(f"{proc}/{pid}/cmdline")


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.readall() or b""


def _value(environ: bytes, prefix: bytes) -> str | None:
    entry = next((entry for entry in environ.split(b"\0") if entry.startswith(prefix)), None)
    return None if entry is None else os.fsdecode(entry[len(prefix) :])


def notify(marked: Sequence[MarkedProcess]) -> None:
    """Send SIGTERM to the worker among these processes.

    It leads a session; a process that it is about to start does not yet.
    """
    for process in marked:
        with suppress(ProcessLookupError, PermissionError):
            if not process.users and os.getsid(process.pid) == process.pid:
                os.kill(process.pid, signal.SIGTERM)


def kill(marked: Sequence[MarkedProcess]) -> None:
    """Send SIGKILL to these processes and to all their descendants, marked or not."""
    for process in marked:
        for member in _family(process.pid):
            with suppress(psutil.Error):
                member.kill()


def _family(pid: int) -> Iterator[psutil.Process]:
    with suppress(psutil.Error):
        head = psutil.Process(pid)
        children = head.children(recursive=True)
        yield head
        yield from children
