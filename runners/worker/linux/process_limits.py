"""The limits of a process of ours or of the job on the machine, for any account."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen

from .process_tree import tasks_of

FIRST_TO_GO = 500
"""The OOM score, of 1,000.

When memory runs out, the kernel ends the job before the worker, the bastion and other programs.
"""

_SCORE = Path("/proc/self/oom_score_adj")


def backstop(processes: int, there: int) -> int:
    """Return the most tasks that the kernel lets the account of a job have.

    `there` are the tasks it has now, and `processes` is the job's own bound. The limit is much larger, because the
    kernel counts all tasks of an account, not of a job: a job with too many is ended before its account has none left
    for others. This limit is for the time when nothing else can count any more.
    """
    return there + 2 * processes + 4_096


def set_limits(open_files: int) -> None:
    """Allow no core files, which would hold secrets, and so many open files, for this process and all that it starts.

    The first limit is soft: a job that wants a core file runs `ulimit -c unlimited`.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _least(open_files, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def start_bounded(start: Callable[[], Popen[bytes]], processes: int, uid: int) -> Popen[bytes]:
    """Start a process of this account with the bound that the kernel has without a group: an account's processes.

    There is no bound on address space: programs that use a GPU reserve far more than they use. Root's processes are not
    bounded.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = _least(backstop(processes, tasks_of(uid)), hard) if processes and uid else soft
    # the new process inherits the limit; ours is restored below
    resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))
    try:
        with _first_to_go():
            process = start()
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    if processes and uid:
        with suppress(OSError):  # it has ended, or runs with the rights of another account
            resource.prlimit(process.pid, resource.RLIMIT_NPROC, (most, most))
    return process


def _least(wanted: int, hard: int) -> int:
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


@contextmanager
def _first_to_go() -> Iterator[None]:
    """Make processes started meanwhile the first to end when memory runs out.

    Best effort: not all containers allow it.
    """
    before = ""
    with suppress(OSError, ValueError):
        score = _SCORE.read_text().strip()
        if int(score) < FIRST_TO_GO:
            _SCORE.write_text(str(FIRST_TO_GO))
            before = score
    try:
        yield
    finally:
        if before:
            with suppress(OSError):
                _SCORE.write_text(before)
