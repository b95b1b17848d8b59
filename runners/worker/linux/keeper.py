"""The worker's keeper: its parent process, which only waits, and takes the worker's place if the worker crashes.

A worker can be killed like any other process. Then what it had started would run on unwatched, and output that no
segment holds would be lost. The keeper is the next reaper above the worker, so such orphans become its children.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable

from .session import adopt_orphans


def keep(worker: Callable[[], int], stand_in: Callable[[str], int]) -> int:
    """Run `worker` in a child process and return its exit code. If it crashes, return that of `stand_in`.

    `stand_in` gets the reason as text. Both processes lead a session, and both react to a notice: a signal to either
    reaches the worker.
    """
    adopt_orphans()
    child = os.fork()
    if child == 0:
        os.setsid()
        return _or_fall(worker)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return stand_in(
            f"the worker crashed by signal {os.WTERMSIG(status)}; the processes that it had started were ended"
        )
    return os.WEXITSTATUS(status)


def _or_fall(worker: Callable[[], int]) -> int:
    """Run the worker; turn an error of our own into a death by signal, not into the exit code of a user's process."""
    try:
        return worker()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        signal.raise_signal(signal.SIGKILL)
        raise
