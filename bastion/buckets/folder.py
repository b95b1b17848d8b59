"""Which folder a local bucket is: an empty mount point, or another folder in its place, is a store that is down.

A marker below `%private/` names the folder; the first who writes makes it. In a bucket that several accounts share each has
one of its own. A share that drops and comes back may have another
device number, so the marker's content decides, and its place on the disk only saves the reading. Who opened a folder without a
marker, as an older bastion left it, goes by the device and the inode of the folder. Raises `OSError`.
"""

from __future__ import annotations

import os
from contextlib import suppress
from uuid import uuid4

from bastion.buckets.paths import PRIVATE

MARK = b"store"
_MODE = 0o666  # the umask decides, as with all objects
_BYTES_MAX = 64
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

Place = tuple[int, int]


class Swapped(OSError):
    """Another folder lies in the place of the one that we began on, or nothing is mounted there."""


class Folder:
    """The folder that was there when this was made. Raises `FileNotFoundError` if there is none.

    Its marker lies in the folder `private` below it, which is made, if need be, with this mode.
    """

    def __init__(self, root: bytes, private: bytes = PRIVATE, mode: int = 0o777) -> None:
        self._root, self._private, self._mode = root, os.path.join(root, private), mode
        self._marker = os.path.join(self._private, MARK)
        self._folder = _place(root)
        self._mark = self._marked()
        self._at = self._mark and _place(self._marker)

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
        file = os.open(new, _NEW, _MODE)
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
