"""Sees that the processes of one worker keep within their bounds.

A control group does it best, where one can be had. Elsewhere the processes are looked at: the worker's descendants are
counted, and their memory is added up, some times a second.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable

from runners.worker.bounds import Bounds, Excess
from runners.worker.cgroup import Group, group
from runners.worker.family import ahead, family, memory, put_down
from runners.worker.limits import start_bounded

LOOK_S = 0.1
_SHARE = 20.0
"""Between two looks lies so many times what the last one took: looking costs a twentieth of one processor at the most."""


class LocalGuard:
    """Of the descendants of this process, of which those that count are in the `group` if there is one."""

    def __init__(self, bounds: Bounds, group: Group | None) -> None:
        self._bounds, self._group = bounds, group
        self._took = 0.0
        self._found: Excess | None = None

    def start(self, start: Callable[[], subprocess.Popen[bytes]], uid: int) -> subprocess.Popen[bytes]:
        """Start what it is to guard, as this account."""
        if self._group is None:
            return start_bounded(start, self._bounds.processes, uid)
        with self._group.inside():
            return start_bounded(start, 0, uid)

    def look(self) -> Excess | None:
        """The bound that was broken, the first one for ever: what broke it is killed at once, while it can be overtaken."""
        begun = time.monotonic()
        with ahead():
            self._found = self._found or (self._group.look() if self._group else self._look())
            if self._found:
                self.kill()
        self._took = time.monotonic() - begun
        return self._found

    def period(self) -> float:
        """Seconds to the next look."""
        return max(LOOK_S, _SHARE * self._took)

    def kill(self) -> None:
        """Kill all that it guards."""
        if self._group is not None:
            self._group.kill()
        put_down()

    def close(self) -> None:
        """All have ended."""
        if self._group is not None:
            self.look()
            self._group.remove()

    def _look(self) -> Excess | None:
        bounds, members = self._bounds, family()
        if bounds.processes and sum(member.threads for member in members) > bounds.processes:
            return bounds.too_many()
        most = bounds.memory_bytes
        if most and sum(member.resident for member in members) > most and memory(members) > most:
            return bounds.too_much()
        return None


def guard_of(bounds: Bounds) -> LocalGuard:
    """The best that can be had here, for the processes of this one."""
    return LocalGuard(bounds, group(str(os.getpid()), bounds))
