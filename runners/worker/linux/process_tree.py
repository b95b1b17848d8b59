"""The processes below this one, as Linux shows them: counted, and ended faster than they can multiply."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

_PROC = "/proc"
_PAGE = os.sysconf("SC_PAGE_SIZE")
_LISTS_CHILDREN = os.path.exists(f"{_PROC}/thread-self/children")
_ENDED = "ZX"
_PASSES = 100
_ROUNDS, _ROUND_S = 250, 0.02
_OWN = (b"Pss_Anon:", b"Pss_Shmem:")
_OWN_OR_SHARED = (b"RssAnon:", b"RssShmem:")


class ProcessInfo(NamedTuple):
    """One process.

    pid: its number.
    parent: the pid of its parent.
    threads: the number of its threads.
    resident: bytes in memory; memory shared with others and mapped files count in full.
    start: when it was started, in clock ticks since the boot.
    """

    pid: int
    parent: int
    threads: int
    resident: int
    start: int


def family(*roots: int, alarm: Callable[[int], None] = lambda _: None) -> list[ProcessInfo]:
    """Return every descendant of this process that has not ended; of the `roots`, if some are named.

    Only descendants are read, from the lists of children that Linux keeps for each thread: other processes of the
    machine cost nothing. A list that changes while it is read may lack a child, so callers look again until nothing is
    found. `alarm` is called with the count so far, once for each process.
    """
    starts = roots or (os.getpid(),)
    if not _LISTS_CHILDREN:
        return _family_of_all(starts)
    found: list[ProcessInfo] = []
    pending = [child for pid in starts for child in _children(pid, threads=0)]
    seen = set(starts)
    for pid in pending:
        if pid not in seen:
            seen.add(pid)
            with suppress(OSError):
                member = _member(pid)
                if member is not None:
                    found.append(member)
                    alarm(len(found))
                    pending += _children(pid, member.threads)
    return found


def _family_of_all(starts: Iterable[int]) -> list[ProcessInfo]:
    """Return the same where the kernel keeps no such lists, from the parents of all processes of the machine."""
    children: dict[int, list[ProcessInfo]] = {}
    for member in _everybody():
        children.setdefault(member.parent, []).append(member)
    found = [child for pid in starts for child in children.get(pid, ())]
    for member in found:
        found += children.get(member.pid, ())
    return found


def _children(pid: int, threads: int) -> list[int]:
    """Return the children of all threads of a process; none if it is gone. `threads` 0: as many as it has."""
    found: list[int] = []
    with suppress(OSError):
        tasks = [str(pid)] if threads == 1 else os.listdir(f"{_PROC}/{pid}/task")
        for task in tasks:
            with suppress(OSError):  # the thread ended
                found += map(int, _read(f"{pid}/task/{task}/children").split())
    return found


def memory(members: Iterable[ProcessInfo]) -> int:
    """Return the bytes that they use together.

    Shared memory counts once; memory that can be read again from a file does not count. Takes a while for large
    processes: the system walks through all of their memory.
    """
    return sum(
        _figure(f"{member.pid}/smaps_rollup", _OWN) or _figure(f"{member.pid}/status", _OWN_OR_SHARED)
        for member in members
    )


def tasks_of(uid: int) -> int:
    """Return how many processes and threads an account has on this machine."""
    return sum(member.threads for member in _everybody() if _owner(member.pid) == uid)


def put_down(*roots: int) -> bool:
    """Kill every descendant of this process, or of the `roots`. Return True if there was none.

    They are stopped first, until no process is found that could still have a new child. Killing them one by one would
    always leave some of those that multiply faster than they are found.
    """
    stopped: set[int] = set()
    with ahead():
        for _ in range(_PASSES):
            fresh = {member.pid for member in family(*roots)} - stopped
            if not fresh:
                break
            send(fresh, signal.SIGSTOP)
            stopped |= fresh
        send(stopped, signal.SIGKILL)
    return not stopped


def kill_all() -> None:
    """Kill every descendant of this process, and return when none runs any more. One that cannot end is left."""
    for _ in range(_ROUNDS):
        if put_down():
            return
        time.sleep(_ROUND_S)


def send(pids: Iterable[int], number: int) -> None:
    """Signal these processes, if they exist and we may."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def _everybody() -> Iterator[ProcessInfo]:
    for name in os.listdir(_PROC):
        if name.isdigit():
            with suppress(OSError):
                member = _member(int(name))
                if member is not None:
                    yield member


def _member(pid: int) -> ProcessInfo | None:
    """Return one process; None if it has ended. Raises `OSError` if it is gone.

    A process whose first thread alone has ended runs on.
    """
    fields = _read(f"{pid}/stat").rpartition(b") ")[2].split()  # the name before it may hold any characters
    threads = int(fields[17])
    if fields[0].decode() in _ENDED and threads <= 1:
        return None
    return ProcessInfo(pid, int(fields[1]), threads, int(fields[21]) * _PAGE, int(fields[19]))


def started(pid: int) -> int | None:
    """Return when a live process was started, in clock ticks since the boot.

    With its pid this identifies it for good.
    """
    with suppress(OSError, IndexError, ValueError):
        member = _member(pid)
        return member.start if member else None
    return None


def born(pid: int) -> int | None:
    """Return the same, also for a process that has ended and is not yet reaped."""
    with suppress(OSError, IndexError, ValueError):
        return int(_read(f"{pid}/stat").rpartition(b") ")[2].split()[19])
    return None


def _figure(path: str, words: tuple[bytes, ...]) -> int:
    """Return the sum of the lines that begin so, in bytes; 0 for a process that is gone or hidden from us."""
    try:
        lines = _read(path).splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(words))


def _read(path: str) -> bytes:
    with open(f"{_PROC}/{path}", "rb", buffering=0) as file:
        return file.readall() or b""


def _owner(pid: int) -> int | None:
    try:
        return os.stat(f"{_PROC}/{pid}").st_uid
    except OSError:
        return None


@contextmanager
def ahead() -> Iterator[None]:
    """Run this thread before the thousands that a job may have made ready. Best effort: only root may."""
    with at_need() as rise:
        rise()
        yield


@contextmanager
def at_need() -> Iterator[Callable[[], None]]:
    """Do the same from the moment when the yielded function is called until the end of the block."""
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    risen: list[bool] = []

    def rise() -> None:
        if not risen:
            risen.append(True)
            with suppress(OSError):
                os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))

    try:
        yield rise
    finally:
        if risen:
            with suppress(OSError):
                os.sched_setscheduler(0, *before)
