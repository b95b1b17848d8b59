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
    """One process. `resident` in bytes: what it shares with others, and what it maps of files, counts in full.

    `start` is when it was started, in the clock's ticks since the boot.
    """

    pid: int
    parent: int
    threads: int
    resident: int
    start: int


def family(*roots: int, alarm: Callable[[int], None] = lambda _: None) -> list[ProcessInfo]:
    """Every descendant of this process that has not ended; of the `roots`, if some are named.

    Only descendants are read, by the lists of children that Linux keeps for each thread: what else the machine runs costs
    nothing. A list that changes while it is read may lack a child, so a thing is ended by looking until nothing is found.
    `alarm` is called with the count so far, once for each process.
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
    """The same where the kernel keeps no such lists: from the parents of all processes of the machine."""
    children: dict[int, list[ProcessInfo]] = {}
    for member in _everybody():
        children.setdefault(member.parent, []).append(member)
    found = [child for pid in starts for child in children.get(pid, ())]
    for member in found:
        found += children.get(member.pid, ())
    return found


def _children(pid: int, threads: int) -> list[int]:
    """The children of all threads of a process; none if it is gone. `threads` 0: as many as it has."""
    found: list[int] = []
    with suppress(OSError):
        tasks = [str(pid)] if threads == 1 else os.listdir(f"{_PROC}/{pid}/task")
        for task in tasks:
            with suppress(OSError):  # the thread ended
                found += map(int, _read(f"{pid}/task/{task}/children").split())
    return found


def memory(members: Iterable[ProcessInfo]) -> int:
    """Bytes that they use together: what several share counts once, and what can be read again from a file does not.

    Takes a while for large ones: the system walks through all that they have.
    """
    return sum(
        _figure(f"{member.pid}/smaps_rollup", _OWN) or _figure(f"{member.pid}/status", _OWN_OR_SHARED)
        for member in members
    )


def tasks_of(uid: int) -> int:
    """How many processes and threads an account has on this machine."""
    return sum(member.threads for member in _everybody() if _owner(member.pid) == uid)


def put_down(*roots: int) -> bool:
    """Kill every descendant of this process, or of the `roots`. True: there was none.

    They are stopped first, until none is found that could have had another child meanwhile: of those that multiply faster
    than they are found one by one, some would always be left.
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
    """Signal these processes, as far as they are there and let us."""
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
    """One process; None if it has ended. One whose first thread alone has ended runs on. Raises `OSError` if it is gone."""
    fields = _read(f"{pid}/stat").rpartition(b") ")[2].split()  # the name before may hold anything
    threads = int(fields[17])
    if fields[0].decode() in _ENDED and threads <= 1:
        return None
    return ProcessInfo(pid, int(fields[1]), threads, int(fields[21]) * _PAGE, int(fields[19]))


def started(pid: int) -> int | None:
    """When a process that lives was started, in the clock's ticks since the boot: with its pid, its name for good."""
    with suppress(OSError, IndexError, ValueError):
        member = _member(pid)
        return member.start if member else None
    return None


def born(pid: int) -> int | None:
    """The same, also of one that has ended and that nobody has waited for."""
    with suppress(OSError, IndexError, ValueError):
        return int(_read(f"{pid}/stat").rpartition(b") ")[2].split()[19])
    return None


def _figure(path: str, words: tuple[bytes, ...]) -> int:
    """The sum of the lines that begin so, in bytes; 0 for what is gone or not for us to see."""
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
    """This thread runs before the thousands that a job may have made ready. Best effort: only root may."""
    with at_need() as rise:
        rise()
        yield


@contextmanager
def at_need() -> Iterator[Callable[[], None]]:
    """The same from the call on of what is yielded, until the end of the block."""
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
