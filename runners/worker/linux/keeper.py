"""The worker's keeper: its parent, which only waits. When the worker falls, it ends in the worker's place.

A worker can be killed like any other process. What it had started would run on with nobody to see it, and output that
no segment holds would be lost. The keeper is the next reaper above the worker, so such orphans become its own.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable

from .session import adopt_orphans


def keep(worker: Callable[[], int], stand_in: Callable[[str], int]) -> int:
    """Run `worker` in a child process: its exit code. If it falls, that of `stand_in`, which is told why.

    Both processes lead a session, and both wake what waits for a notice: a signal to either reaches the worker.
    """
    adopt_orphans()
    child = os.fork()
    if child == 0:
        os.setsid()
        return _or_fall(worker)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return stand_in(f"the worker fell, by signal {os.WTERMSIG(status)}; what it had started was ended")
    return os.WEXITSTATUS(status)


def _or_fall(worker: Callable[[], int]) -> int:
    """An error of our own is a fall, not the exit code of somebody's process."""
    try:
        return worker()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        signal.raise_signal(signal.SIGKILL)
        raise
