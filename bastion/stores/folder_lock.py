"""The lock of a local bucket, which others can take from a process that stands still.

One process at a time changes the tree, and only by moves out of a folder of its own below `%private/`, or into it. This
folder is its grant. A process that waits for a holder that stands still (SIGSTOP, Ctrl-Z) sets the lock file aside. The
first holder of the new lock file removes the grant that the old one names, before it does anything else. When the old
holder wakes up, its next move must fail, because its grant is gone, and with it the file to move and the folder to move
into. So the old holder either made its move before its grant was removed, or it never makes it.

A holder first writes the name of its grant, and then checks that the lock is still in its place. A waiter first sets
the lock aside, and then its successor reads that name. So one of the two sees the other. Raises `OSError`;
`FileNotFoundError` also where a grant was taken away.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

NEW = b"new"
"""The file of a grant that is to become an object. Its writer holds a lock on it."""

MODE = 0o666  # the umask decides who shares the bucket
OWN = 0o600
PATIENCE_S = 1.0
_NAPS_S = (0.0002, 0.02)
_ABANDONED_S = 3600.0
_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ASIDE = b"lock-"
_SAID = re.compile(rb"([0-9]{1,16})\n(?:([0-9a-f]{32})\n)?")  # microseconds until the year 2286, and the holder's grant


class FolderLock:
    """The lock and the grants below one folder. `patience_s`: seconds to wait for one and the same holder."""

    def __init__(self, private: bytes, patience_s: float) -> None:
        self._private, self._patience_s = private, patience_s
        self._lock = os.path.join(private, b"lock")

    @contextmanager
    def granted(self) -> Iterator[bytes]:
        """Make a new folder, and remove it in the end with all that is in it."""
        grant = os.path.join(self._private, uuid4().hex.encode())
        os.mkdir(grant)
        try:
            yield grant
        finally:
            _remove(grant)

    @contextmanager
    def locked(self, grant: bytes | None, now: int = 0, *, anew: bool = False) -> Iterator[int]:
        """Hold the lock, and give a stamp: microseconds since 1970, larger than every stamp before.

        `grant` None: this change cannot be stopped. `now` is the file system's time; 0: the stamp dates nothing.
        `anew`: go by `now` alone, because a clock was ahead before.
        """
        lock = self._open()
        try:
            yield self._enter(lock, grant, now, anew)
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing alone does not unlock while a forked child holds a copy
            os.close(lock)

    def sweep(self) -> None:
        """Remove the grants of writers that were killed."""
        with os.scandir(self._private) as found:
            for entry in found:
                if re.fullmatch(rb"[0-9a-f]{32}", entry.name) and _is_abandoned(entry.path):
                    _remove(entry.path)

    def _open(self) -> int:
        """Open and lock the lock file, again if it was set aside meanwhile."""
        while True:
            lock = os.open(self._lock, _LOCK, MODE)
            try:
                if self._wait(lock):
                    return lock
            except BaseException:
                os.close(lock)
                raise
            os.close(lock)

    def _wait(self, lock: int) -> bool:
        """Lock the file. Return False if it had to be set aside, because its holder stood still."""
        holder, since, (nap, longest) = b"", time.monotonic(), _NAPS_S
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                said = os.pread(lock, 64, 0)
            if said != holder:
                holder, since = said, time.monotonic()
            elif time.monotonic() - since > self._patience_s:
                if self._is_ours(lock):
                    with suppress(FileNotFoundError):
                        os.rename(self._lock, os.path.join(self._private, _ASIDE + uuid4().hex.encode()))
                return False
            time.sleep(nap)
            nap = min(2 * nap, longest)

    def _enter(self, lock: int, grant: bytes | None, now: int, anew: bool) -> int:
        """Write the stamp and the grant into the lock file, and revoke the grants of locks that were set aside."""
        last, _ = _said(lock)
        asides = self._revoked() if last is None else {}
        newest = max(last or 0, *asides.values(), 0)
        stamp = now if anew else max(now, 1 + newest)
        os.pwrite(lock, b"%d\n%s\n" % (stamp, os.path.basename(grant or b"")), 0)
        if not self._is_ours(lock):
            raise FileNotFoundError(errno.ENOENT, "the lock was taken away")
        for aside in asides:
            with suppress(FileNotFoundError):
                os.unlink(aside)
        return stamp

    def _revoked(self) -> dict[bytes, int]:
        """Remove the grants that set-aside locks name. Return these locks with their stamps."""
        found = {}
        for name in os.listdir(self._private):
            path = os.path.join(self._private, name)
            if name.startswith(_ASIDE):
                with suppress(FileNotFoundError):
                    file = os.open(path, _OLD)
                    try:
                        stamp, grant = _said(file)
                    finally:
                        os.close(file)
                    if grant:
                        _remove(os.path.join(self._private, grant))
                    found[path] = stamp or 0
        return found

    def _is_ours(self, lock: int) -> bool:
        """Return True if the lock file that we have opened is the one in its place."""
        try:
            return os.path.samestat(os.fstat(lock), os.stat(self._lock))
        except FileNotFoundError:
            return False


def is_in_use(path: bytes) -> bool:
    """Return True if a process holds a lock on this file. Raises `FileNotFoundError`."""
    file = os.open(path, _OLD)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _said(lock: int) -> tuple[int | None, bytes]:
    """Return the last stamp and the last holder's grant; None for the stamp if the file holds nothing valid."""
    found = _SAID.match(os.pread(lock, 64, 0))
    return (int(found[1]), found[2] or b"") if found else (None, b"")


def _is_abandoned(grant: bytes) -> bool:
    """Return True if its writer is dead. If it has written nothing yet, its age decides.

    A writer that is alive after all begins anew.
    """
    try:
        return not is_in_use(os.path.join(grant, NEW))
    except FileNotFoundError:
        with suppress(FileNotFoundError):
            return time.time() - os.stat(grant).st_mtime > _ABANDONED_S
        return False


def _remove(grant: bytes) -> None:
    """Remove a grant with its files, even while others put files in or take some out: afterwards they no longer can."""
    while True:
        try:
            for name in os.listdir(grant):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(grant, name))
            os.rmdir(grant)
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        else:
            return
