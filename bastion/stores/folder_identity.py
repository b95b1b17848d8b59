"""Which folder a local bucket is: an empty mount point, or another folder in its place, is a store that is down.

A marker below `%private/` names the folder; the first who writes makes it. In a bucket that several accounts share each has
one of its own. A share that drops and comes back may have another
device number, so the marker's content decides, and its place on the disk only saves the reading. Who opened a folder without a
marker, as an older bastion left it, goes by the device and the inode of the folder. Raises `OSError`.

Whoever is refused a write for want of room says so in the folder, by a second name of the marker: that takes no room itself, on
a full disk or at the end of an account's quota. It is for those who read: what nobody can write they would miss too late.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from .file_paths import PRIVATE

MARK = b"store"
FULL = b"full" + PRIVATE
"""The name, right below the folder, that says that somebody was refused. No key can name it."""

ROOM_BYTES = 64 * 1024
"""With less of it a folder cannot take a sign of life and the journal's next object."""

FULL_S = 60.0
"""So long a refusal counts. A bastion is refused again every second, and takes the name away when it is not."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MODE = 0o666  # the umask decides, as with all objects
_BYTES_MAX = 64
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

Place = tuple[int, int]


class Swapped(OSError):
    """Another folder lies in the place of the one that we began on, or nothing is mounted there."""


class FolderIdentity:
    """The folder that was there when this was made. Raises `FileNotFoundError` if there is none.

    Its marker lies in the folder `private` below it, which is made, if need be, with this mode.
    """

    def __init__(self, root: bytes, private: bytes = PRIVATE, mode: int = 0o777) -> None:
        self._root, self._private, self._mode = root, os.path.join(root, private), mode
        self._marker = os.path.join(self._private, MARK)
        self._folder = _place(root)
        self._mark = self._marked()
        self._at = self._mark and _place(self._marker)
        self._refused = os.path.join(root, FULL)
        self._was_refused = False

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Around a write: say in the folder that there was no room for it, or no more that there was none."""
        try:
            yield
        except OSError as error:
            if error.errno in NO_ROOM:
                self._was_refused = True
                with suppress(OSError):  # the account may not write here: its own command fails with the same reason
                    self._forget()
                    os.link(self._marker, self._refused, follow_symlinks=False)
            raise
        if self._was_refused:
            self._was_refused = False
            with suppress(OSError):
                self._forget()

    def _forget(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self._refused)

    def require(self) -> None:
        """Raise `Swapped` unless it is still there; `FileNotFoundError` if nothing is. One look at the disk."""
        if not self._mark:
            if _place(self._root) != self._folder:
                raise Swapped
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            if (at := _place(self._marker)) == self._at:
                return
            if self._marked() == self._mark:  # it came back under another device number
                self._at = at
                return
        os.stat(self._root)
        raise Swapped

    def claim(self) -> None:
        """Before a write: the same, and give the folder its marker if it has none."""
        self.require()
        if self._mark:
            return
        with suppress(FileExistsError):
            os.mkdir(self._private, self._mode)
        new = os.path.join(self._private, b"%s.%s" % (MARK, uuid4().hex.encode()))
        file = os.open(new, _NEW, _MODE & self._mode)  # by its second name others get at it, too
        try:
            os.write(file, uuid4().hex.encode())
            os.fsync(file)
            with suppress(FileExistsError):
                os.link(new, self._marker)
        finally:
            os.close(file)
            os.unlink(new)
        self._mark = self._marked()
        self._at = self._mark and _place(self._marker)

    def _marked(self) -> bytes:
        """What the marker says; empty if there is none, or we may not read it."""
        with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            file = os.open(self._marker, _READ)
            try:
                return os.read(file, _BYTES_MAX)
            finally:
                os.close(file)
        return b""


def _place(path: bytes) -> Place:
    found = os.stat(path)
    return found.st_dev, found.st_ino


def was_refused(root: str) -> bool:
    """True if somebody was refused a write to this folder a moment ago, for want of room."""
    try:
        told = os.lstat(os.path.join(os.fsencode(root), FULL)).st_ctime
    except OSError:
        return False
    return abs(time.time() - told) < FULL_S


def is_full(url: str) -> bool:
    """True if a bucket is a folder on a disk without room, or in which somebody, as the bastion, was just refused for want of it.
    Of other stores nobody knows.
    """
    if not url.startswith("file://"):
        return False
    folder = url.removeprefix("file://")
    try:
        return was_refused(folder) or shutil.disk_usage(folder).free < ROOM_BYTES
    except OSError:
        return False
