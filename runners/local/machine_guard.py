"""The guard of all machines in the registry: says which of them live, tells them to stop, and ends them.

Where a machine has a control group, that says who is left. Elsewhere it is what registered and what descends from it: a
worker is the reaper of all that it starts, its keeper of what the worker leaves, and the process that started the keeper
of what both leave. What was once seen below them counts until it has ended, whoever its parent is by then.
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
from .registry import OURS, Entry, Registry

_PR_SET_CHILD_SUBREAPER = 36
_SEEN_S = 2.0
"""Between two looks at what descends from a machine that has no group."""

_PASSES = 100

Pids = dict[int, int]
"""Processes by their pids, with their starts."""


@dataclass(kw_only=True)
class MachineGuard:
    """Over the machines of one registry. `adopts`: what a machine leaves without a parent becomes a child of this process."""

    registry: Registry
    clock: Clock
    adopts: bool = False
    _seen: dict[str, Pids] = field(default_factory=dict)
    _looked: dict[str, float] = field(default_factory=dict)
    _left: Pids = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.adopts and ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
            raise RunnerError("cannot become the reaper of what machines leave")

    def lives(self, entry: Entry) -> bool:
        """True while anything of the machine runs. Raises `RunnerError`."""
        if entry.paper.boot != self.registry.boot:
            return False
        if any(process.lives for process in entry.processes()):
            self._remember(entry)
            return True
        return bool(self.processes(entry))

    def processes(self, entry: Entry) -> Pids:
        """All that runs of the machine. Raises `RunnerError`."""
        roots = {process.pid: process.start for process in entry.living()}
        if entry.paper.group:
            found = {
                pid: start for pid in machine_cgroup.members(entry.paper.group) if (start := started(pid)) is not None
            }
            self._left |= found if self.adopts else {}
            return roots | found
        kept = _alive(self._seen.get(str(entry.name), {}))
        roots |= kept if roots or kept else self._orphans(entry)
        found = roots | {member.pid: member.start for member in family(*roots)} if roots else {}
        self._seen[str(entry.name)] = found
        self._left |= found if self.adopts else {}
        return found

    def tell(self, entry: Entry) -> None:
        """SIGTERM to the worker and its keeper, and to nothing of the user's."""
        for process in entry.living():
            if process.role in OURS:
                send(process.pid, process.start, signal.SIGTERM)

    def end(self, entry: Entry) -> None:
        """Kill all of the machine: it is stopped first, until nothing new is found, so that nothing outruns the kill."""
        if entry.paper.boot != self.registry.boot:
            return
        if entry.paper.group:
            self.processes(entry)  # to know whom to wait for
            machine_cgroup.end(entry.paper.group)
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

    def forget(self, entry: Entry) -> bool:
        """Nothing of it runs: take it out of the registry. False if something came up meanwhile."""
        if not self.registry.forget(entry):
            return False
        if entry.paper.group:
            machine_cgroup.remove(entry.paper.group)
        self._seen.pop(str(entry.name), None)
        self._looked.pop(str(entry.name), None)
        return True

    def reap(self) -> None:
        """Take what machines left to this process, and has ended, off the system's table."""
        self._left = {pid: start for pid, start in self._left.items() if born(pid) == start and not _waited(pid)}

    def _remember(self, entry: Entry) -> None:
        """What descends from it, now and then: it may lose its parents before anybody looks again."""
        now, name = self.clock.monotonic(), str(entry.name)
        if (self.adopts or not entry.paper.group) and now - self._looked.get(name, float("-inf")) >= _SEEN_S:
            self._looked[name] = now
            self.processes(entry)

    def _orphans(self, entry: Entry) -> Pids:
        """What a machine left to us of which nothing is known to run: children of ours that are none of our session."""
        first = min((process.start for process in entry.processes()), default=None)
        if not self.adopts or first is None:
            return {}
        known = {process.pid for other in self.registry.entries() for process in other.processes()}
        found = {pid: start for pid in self._adopted() if pid not in known and (start := started(pid)) is not None}
        return {pid: start for pid, start in found.items() if start >= first}

    def _adopted(self) -> list[int]:
        """Children of this process in other sessions: nobody joins ours, so we did not start them for ourselves."""
        mine, found = os.getsid(0), []
        for pid in children():
            with suppress(OSError):
                if os.getsid(pid) != mine:
                    found.append(pid)
        return found


def children() -> list[int]:
    """The children of this process, ended ones too."""
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        with suppress(OSError, ValueError), open(f"/proc/self/task/{task}/children", "rb") as file:
            found += map(int, file.read().split())
    return found


def send(pid: int, start: int, number: int) -> None:
    """Signal just this process: one that has its pid later gets nothing."""
    with suppress(OSError):
        handle = os.pidfd_open(pid)
        try:
            if started(pid) == start:
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def _waited(pid: int) -> bool:
    """True for a child of ours that had ended: its number may be another's from now on."""
    with suppress(ChildProcessError):  # its parent has not ended yet
        return os.waitpid(pid, os.WNOHANG) != (0, 0)
    return False


def _alive(some: Pids) -> Pids:
    return {pid: start for pid, start in some.items() if started(pid) == start}
