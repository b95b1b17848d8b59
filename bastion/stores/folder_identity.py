"""The identity of a local bucket's folder: an empty mount point or another folder in its place is a store that is down.

A marker below `%private/` names the folder; the first writer makes it. In a bucket that several accounts share, each
has a marker of its own. A share that goes away and comes back may have another device number. So the marker's content
decides, and its place on the disk only saves reading it. A folder without a marker, as an older bastion left it, is
identified by its device and inode. Raises `OSError`.

A process whose write is refused for lack of room says so in the folder, by a second name of the marker. That takes no
room itself, even on a full disk or at the end of an account's quota. It is for readers: without it they would learn too
late that nothing can be written.
"""

from __future__ import annotations

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from uuid import uuid4

from .keys import PRIVATE

MARK = b"store"
FULL = b"full" + PRIVATE
"""The name, right below the folder, that says that a write was refused. No key can name it."""

ROOM_BYTES = 64 * 1024
"""With less free room a folder cannot take a heartbeat and the journal's next object."""

FULL_S = 60.0
"""Seconds for which a refusal counts. A bastion is refused again every second, and removes the name once it is not."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_MODE = 0o666  # the umask decides, as with all objects
_BYTES_MAX = 64
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC

Place = tuple[int, int]


class FolderReplaced(OSError):
    """Another folder lies in the place of the one that we began on, or nothing is mounted there."""


class FolderIdentity:
    """The folder that was there when this was made. Raises `FileNotFoundError` if there is none.

    Its marker lies in the folder `private` below it, which is made with this mode if it is missing.
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
        """Wrap a write: note in the folder that there was no room for it, or remove this note if there was."""
        try:
            yield
        except OSError as error:
            if error.errno in NO_ROOM:
                self._was_refused = True
                # An account without the right to write here learns the reason from its own command.
                with suppress(OSError):
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
        """Raise `FolderReplaced` unless the folder is still there; `FileNotFoundError` if nothing is. One look at the disk."""
        if not self._mark:
            if _place(self._root) != self._folder:
                raise FolderReplaced
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            if (at := _place(self._marker)) == self._at:
                return
            if self._marked() == self._mark:  # it came back under another device number
                self._at = at
                return
        os.stat(self._root)
        raise FolderReplaced

    def claim(self) -> None:
        """Do the same before a write, and give the folder its marker if it has none."""
        self.require()
        if self._mark:
            return
        with suppress(FileExistsError):
            os.mkdir(self._private, self._mode)
        new = os.path.join(self._private, b"%s.%s" % (MARK, uuid4().hex.encode()))
        # The mode matters: `FULL`, its second name, is where other accounts can reach it.
        file = os.open(new, _NEW, _MODE & self._mode)
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
        """Return the content of the marker; empty if there is none, or if we may not read it."""
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
    """Return True if a write to this folder was refused for lack of room within the last `FULL_S`."""
    try:
        told = os.lstat(os.path.join(os.fsencode(root), FULL)).st_ctime
    except OSError:
        return False
    return abs(time.time() - told) < FULL_S


def is_full(url: str) -> bool:
    """Return True if a bucket is a folder without room, or one in which a write was just refused for lack of it.

    False for other stores: they do not tell.
    """
    if not url.startswith("file://"):
        return False
    folder = url.removeprefix("file://")
    try:
        return was_refused(folder) or shutil.disk_usage(folder).free < ROOM_BYTES
    except OSError:
        return False
