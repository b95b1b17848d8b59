"""What a process of ours or of the job may not do on the machine, whoever it is."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import Popen

from .process_tree import tasks_of

FIRST_TO_GO = 500
"""Of 1,000: where memory runs out, the kernel takes the job before the worker, the bastion and other people's programs."""

_SCORE = Path("/proc/self/oom_score_adj")


def backstop(processes: int, there: int) -> int:
    """Tasks that the kernel lets the account of a job have, of which `there` are now, and the job may start so many.

    Far more: the kernel counts all of an account's, not a job's, so a job that is too many is to be ended before
    others of its account have none left. This is for when nobody gets to count any more.
    """
    return there + 2 * processes + 4_096


def set_limits(open_files: int) -> None:
    """No core files, which would hold secrets, and so many open files: of this process and each that it starts.

    The first is soft: a job that wants a core file says `ulimit -c unlimited`.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = _least(open_files, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


def start_bounded(start: Callable[[], Popen[bytes]], processes: int, uid: int) -> Popen[bytes]:
    """Start a process of this account with what the kernel bounds without a group: the processes of an account.

    Not the address space: programs that use a GPU reserve far more of it than they ever use. Nobody bounds root's processes.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = _least(backstop(processes, tasks_of(uid)), hard) if processes and uid else soft
    resource.setrlimit(resource.RLIMIT_NPROC, (most, hard))
    try:
        with _first_to_go():
            process = start()
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    if processes and uid:
        with suppress(OSError):  # it has ended, or runs with another's rights
            resource.prlimit(process.pid, resource.RLIMIT_NPROC, (most, most))
    return process


def _least(wanted: int, hard: int) -> int:
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


@contextmanager
def _first_to_go() -> Iterator[None]:
    """What is started meanwhile is ended first where memory runs out. Best effort: not every container lets us."""
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
