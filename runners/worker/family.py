"""The processes below this one, as Linux shows them: counted, and ended faster than they can multiply."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

_PROC = "/proc"
_PAGE = os.sysconf("SC_PAGE_SIZE")
_ENDED = "ZX"
_PASSES = 100
_ROUNDS, _ROUND_S = 250, 0.02
_OWN = (b"Pss_Anon:", b"Pss_Shmem:")
_OWN_OR_SHARED = (b"RssAnon:", b"RssShmem:")


class Member(NamedTuple):
    """One process. `resident` in bytes: what it shares with others, and what it maps of files, counts in full."""

    pid: int
    parent: int
    threads: int
    resident: int


def family() -> list[Member]:
    """Every descendant of this process that has not ended."""
    children: dict[int, list[Member]] = {}
    for member in _everybody():
        children.setdefault(member.parent, []).append(member)
    found = list(children.get(os.getpid(), ()))
    for member in found:
        found += children.get(member.pid, ())
    return found


def memory(members: Iterable[Member]) -> int:
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


def put_down() -> bool:
    """Kill every descendant of this process. True: there was none.

    They are stopped first, until none is found that could have had another child meanwhile: of those that multiply faster
    than they are found one by one, some would always be left.
    """
    stopped: set[int] = set()
    with ahead():
        for _ in range(_PASSES):
            fresh = {member.pid for member in family()} - stopped
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


def _everybody() -> Iterator[Member]:
    for name in os.listdir(_PROC):
        if not name.isdigit():
            continue
        with suppress(OSError):
            fields = _read(f"{name}/stat").rpartition(b") ")[2].split()  # the name before may hold anything
            if fields[0].decode() not in _ENDED:
                yield Member(int(name), int(fields[1]), int(fields[17]), int(fields[21]) * _PAGE)


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
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setscheduler(0, *before)
