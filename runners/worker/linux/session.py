"""The user's processes on Linux: one session below the worker, and whatever escapes from it.

The worker is the subreaper of all that it starts: a daemon that forks twice becomes its child, not init's. So the tree
is the worker's descendants, and it is gone when the worker has no child left.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from .bounds_guard import LocalGuard
from .process_limits import start_bounded
from .process_tree import family, put_down, send
from .unix_account import UnixAccount

_PR_SET_CHILD_SUBREAPER = 36
_CGROUPS = Path("/sys/fs/cgroup")


class Session:
    """A command and its descendants. A worker has one at a time, because it reaps every child.

    `begun` gets the command's pid.
    """

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        output: int,
        account: UnixAccount | None = None,
        guard: LocalGuard | None = None,
        begun: Callable[[int], None] = lambda pid: None,
    ) -> None:
        adopt_orphans()
        self._kills = _memory_kills()
        self.guard = guard

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **(account.how if account else {}),
            )

        uid = account.uid if account else os.geteuid()
        self._command = guard.start(start, uid) if guard else start_bounded(start, 0, uid)
        begun(self._command.pid)

    def wait(self) -> int:
        """Reap children until the command itself has ended. Return its exit code."""
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == self._command.pid:
                code = os.waitstatus_to_exitcode(status)
                self._command.returncode = code
                return code if code >= 0 else 128 - code

    def wait_rest(self) -> None:
        """Reap children until none is left."""
        with suppress(ChildProcessError):
            while True:
                os.waitpid(-1, 0)
        if self.guard:
            self.guard.close()

    def alive(self) -> bool:
        """Return True while a descendant runs."""
        return bool(family())

    def signal(self, number: int) -> None:
        """Signal every descendant."""
        if number != signal.SIGKILL:
            send((member.pid for member in family()), number)
        elif self.guard:
            self.guard.kill()
        else:
            put_down()

    def out_of_memory(self) -> bool:
        """Return True if the count of our control group has risen."""
        return _memory_kills() > self._kills


def adopt_orphans() -> None:
    """Make this process the parent of descendants that lose theirs."""
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot become the subreaper of the job's processes")


def _memory_kills() -> int:
    """Return how often the kernel killed in our control group for lack of memory; 0 if there is no count."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        group = next(line for line in lines if line.startswith("0::"))[len("0::") :]
        events = (_CGROUPS / group.lstrip("/") / "memory.events").read_text().split()
        return int(events[events.index("oom_kill") + 1])
    return 0
