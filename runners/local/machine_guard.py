"""The guard of all machines in the registry: it checks which of them live, tells them to stop, and ends them.

If a machine has a control group, the group shows what is left of it. Otherwise the registered processes and their
descendants show it. A worker reaps all that it starts, its keeper reaps what the worker leaves, and the process that
started the keeper reaps what both leave. A process that was once found below them counts until it ends, whatever its
parent is by then.
"""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, field

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Clock

from ..worker.linux import machine_cgroup
from ..worker.linux.process_tree import ahead, born, family, started
from .registry import OURS, Registry, RegistryEntry

_PR_SET_CHILD_SUBREAPER = 36
_SEEN_S = 2.0
"""Seconds between two looks at the descendants of a machine that has no group."""

_PASSES = 100

Pids = dict[int, int]
"""Processes: the pid and the start of each."""


@dataclass(kw_only=True)
class MachineGuard:
    """The guard of one registry's machines.

    registry: the machines.
    clock: the time.
    adopts: True if processes that a machine leaves without a parent become children of this process.
    """

    registry: Registry
    clock: Clock
    adopts: bool = False
    _seen: dict[str, Pids] = field(default_factory=dict)
    _looked: dict[str, float] = field(default_factory=dict)
    _left: Pids = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.adopts and ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise RunnerError("cannot become the reaper of the processes that machines leave")

    def lives(self, entry: RegistryEntry) -> bool:
        """Return True while a process of the machine runs. Raises `RunnerError`."""
        if entry.record.boot != self.registry.boot:
            return False
        if any(process.lives for process in entry.processes()):
            self._remember(entry)
            return True
        return bool(self.processes(entry))

    def processes(self, entry: RegistryEntry) -> Pids:
        """Return all running processes of the machine. Raises `RunnerError`."""
        roots = {process.pid: process.start for process in entry.living()}
        if entry.record.group:
            found = {
                pid: start for pid in machine_cgroup.members(entry.record.group) if (start := started(pid)) is not None
            }
            self._left |= found if self.adopts else {}
            return roots | found
        kept = _alive(self._seen.get(str(entry.name), {}))
        roots |= kept if roots or kept else self._orphans(entry)
        found = roots | {member.pid: member.start for member in family(*roots)} if roots else {}
        self._seen[str(entry.name)] = found
        self._left |= found if self.adopts else {}
        return found

    def tell(self, entry: RegistryEntry) -> None:
        """Send SIGTERM to the worker and its keeper, and to no process of the user."""
        for process in entry.living():
            if process.kind in OURS:
                send(process.pid, process.start, signal.SIGTERM)

    def end(self, entry: RegistryEntry) -> None:
        """Kill all processes of the machine.

        They are stopped until no new one is found, so that none outruns the kill.
        """
        if entry.record.boot != self.registry.boot:
            return
        if entry.record.group:
            self.processes(entry)  # to know which processes to wait for
            machine_cgroup.end(entry.record.group)
        stopped: Pids = {}
        with ahead():
            for _ in range(_PASSES):
                found = self.processes(entry)
                fresh = {pid: start for pid, start in found.items() if stopped.get(pid) != start}
                if not fresh:
                    break
                for pid, start in fresh.items():
                    send(pid, start, signal.SIGSTOP)
                stopped |= fresh
            for pid, start in stopped.items():
                send(pid, start, signal.SIGKILL)

    def forget(self, entry: RegistryEntry) -> bool:
        """Remove a machine without processes from the registry. Return False if one appeared meanwhile."""
        if not self.registry.forget(entry):
            return False
        if entry.record.group:
            machine_cgroup.remove(entry.record.group)
        self._seen.pop(str(entry.name), None)
        self._looked.pop(str(entry.name), None)
        return True

    def reap(self) -> None:
        """Reap the processes that machines left to this process and that have ended."""
        self._left = {pid: start for pid, start in self._left.items() if born(pid) == start and not _waited(pid)}

    def _remember(self, entry: RegistryEntry) -> None:
        """Look at the descendants at intervals, because a process may lose its parents before the next look."""
        now, name = self.clock.monotonic(), str(entry.name)
        if (self.adopts or not entry.record.group) and now - self._looked.get(name, float("-inf")) >= _SEEN_S:
            self._looked[name] = now
            self.processes(entry)

    def _orphans(self, entry: RegistryEntry) -> Pids:
        """Return processes that a machine left to us and that no entry knows: children of ours outside our session."""
        first = min((process.start for process in entry.processes()), default=None)
        if not self.adopts or first is None:
            return {}
        known = {process.pid for other in self.registry.entries() for process in other.processes()}
        found = {pid: start for pid in self._adopted() if pid not in known and (start := started(pid)) is not None}
        return {pid: start for pid, start in found.items() if start >= first}

    def _adopted(self) -> list[int]:
        """Return the children of this process in other sessions.

        We did not start them for ourselves, because our own children stay in our session.
        """
        mine, found = os.getsid(0), []
        for pid in children():
            with suppress(OSError):
                if os.getsid(pid) != mine:
                    found.append(pid)
        return found


def children() -> list[int]:
    """Return the children of this process, also ended ones."""
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError, ValueError), open(f"/proc/self/task/{task}/children", "rb") as file:
            found += map(int, file.read().split())
    return found


def send(pid: int, start: int, number: int) -> None:
    """Signal just this process. A later process with its pid gets nothing."""
    with suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            # compared after the handle was opened: from then on it means this one process
            if started(pid) == start:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _waited(pid: int) -> bool:
    """Return True for a child of ours that had ended: its number may belong to another process from now on."""
    with suppress(ChildProcessError):  # its parent has not ended yet
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    return False


def _alive(some: Pids) -> Pids:
    return {pid: start for pid, start in some.items() if started(pid) == start}
