"""The guard that keeps the processes of one worker within their bounds.

A control group is used where one can be made: the kernel then enforces the bounds. Elsewhere the guard counts the
worker's descendants and adds up their memory: ten times a second while something changes, once a second otherwise.
"""

from __future__ import annotations

import math
import os
import subprocess
import threading
import time
from collections.abc import Callable

from .bounds import Bounds, BrokenBound
from .cgroup import WorkerCgroup, group
from .process_limits import start_bounded
from .process_tree import at_need, family, memory, put_down

LOOK_S, QUIET_S = 0.1, 1.0
"""Seconds between two looks: `LOOK_S` while something changes, at most `QUIET_S` otherwise."""

_SLOWER = 1.5
_SHARE = 20.0
"""The pause between two looks is at least this many times the last look's duration.

So looks use at most about a twentieth of one processor.
"""

_STORM = 100
"""The number of processes from which on a look gets a higher priority. It gets one too when it begins too late."""

_LATE = 2.0
_WATCH_S = 60.0
_CLOSED_S = 3600.0


class LocalGuard:
    """The guard of this process's descendants. If there is a `group`, the members of the group count.

    pace: the seconds to the next look.
    """

    def __init__(self, bounds: Bounds, group: WorkerCgroup | None) -> None:
        self._bounds, self._group = bounds, group
        self._found: BrokenBound | None = None
        self._seen = (0, 0)
        self.pace = LOOK_S
        self._due = math.inf
        self._ended = threading.Event()

    def start(self, start: Callable[[], subprocess.Popen[bytes]], uid: int) -> subprocess.Popen[bytes]:
        """Start the process to guard, as this account."""
        if self._group is None:
            return start_bounded(start, self._bounds.processes, uid)
        with self._group.inside():
            return start_bounded(start, 0, uid)

    def watch(self) -> BrokenBound | None:
        """Look repeatedly, on the caller's thread, until a bound is broken, all processes end, or a while is over."""
        begun = time.monotonic()
        while not (self._ended.is_set() or self.look() or time.monotonic() - begun > _WATCH_S):
            self._due = time.monotonic() + self.pace
            self._ended.wait(self.pace)
        return self._found

    def look(self) -> BrokenBound | None:
        """Return the bound that was broken, always the first one.

        What broke it is killed at once, while it can still be overtaken.
        """
        begun = time.monotonic()
        with at_need() as rise:
            if begun > self._due + _LATE * QUIET_S:
                rise()
            self._found = self._found or (self._group.look() if self._group else self._look(rise))
            if self._group:  # the kernel enforces the bounds; a look only reads the result
                self.pace = QUIET_S
            if self._found:
                rise()
                self.kill()
        self.pace = max(self.pace, _SHARE * (time.monotonic() - begun))
        return self._found

    def period(self) -> float:
        """Return the seconds from the end of one watch to the next."""
        return _CLOSED_S if self._ended.is_set() or self._found else 0.0

    def kill(self) -> None:
        """Kill all that it guards."""
        if self._group is not None:
            self._group.kill()
        put_down()

    def close(self) -> None:
        """Note that all processes have ended."""
        self._ended.set()
        if self._group is not None:
            self.look()
            self._group.remove()

    def _look(self, rise: Callable[[], None]) -> BrokenBound | None:
        bounds = self._bounds
        members = family(alarm=lambda count: rise() if count >= _STORM else None)
        threads, resident = sum(member.threads for member in members), sum(member.resident for member in members)
        self._settle(threads, resident)
        if bounds.processes and threads > bounds.processes:
            return bounds.too_many()
        most = bounds.memory_bytes
        if most and resident > most and memory(members) > most:
            return bounds.too_much()
        return None

    def _settle(self, threads: int, resident: int) -> None:
        """Look rarely while nothing changes, and often as soon as something does."""
        before = self._seen
        self._seen = threads, resident
        grown = resident - before[1] > max(before[1], self._bounds.memory_bytes // 8) // 8
        moves = threads != before[0] or grown
        self.pace = LOOK_S if moves else min(QUIET_S, self.pace * _SLOWER)


def guard_of(bounds: Bounds) -> LocalGuard:
    """Return the best guard that this machine offers, for the descendants of this process."""
    return LocalGuard(bounds, group(str(os.getpid()), bounds))
