"""A bucket that is a folder of this machine: `file:///path`. Objects are ordinary files.

A new object is written and synced to the disk under `%private/`, and appears whole: by a hard link, which refuses
to overwrite (create), or by a rename (write, replace). Whatever changes the tree does so under the bucket's lock
(for microseconds: the data is on the disk by then), which the system takes back from a process that dies.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from bastion.buckets import tree
from bastion.buckets.keys import check_key, check_prefix
from bastion.buckets.paths import PRIVATE, path_of
from bastion.errors import BucketError, Denied, Full, Missing, NoBucket, UsageError
from bastion.ports import Stat, Stored

_SCHEME = "file://"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_OLD = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_LOCK = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
_STAMP_DIGITS = 16  # until the year 2286; file systems know no modification times much later
_MODE = 0o666  # the umask decides who shares the bucket


class LocalBucket:
    """A folder as a `Bucket`. Processes and threads of one machine may use it at once.

    `url` is `file://` and an absolute path, taken as it stands (no percent-encoding). `create` makes the folder.
    Raises `NoBucket` if there is no such folder, `Denied` if it may not be made.
    """

    def __init__(self, url: str, *, create: bool = False) -> None:
        path = url.removeprefix(_SCHEME)
        if not url.startswith(_SCHEME) or not os.path.isabs(path):
            raise UsageError(f"bucket is {url!r}; give an absolute path: file:///folder")
        self._root = os.fsencode(os.path.normpath(path))
        self._private = os.path.join(self._root, PRIVATE)
        self.url = _SCHEME + os.fsdecode(self._root)
        with self._asking(""):
            if create:
                os.makedirs(self._root, exist_ok=True)
            self._require_root()
        if os.path.isdir(self._private):
            self._sweep()

    def read(self, key: str) -> Stored:
        """The whole object. Raises `Missing`."""
        check_key(key)
        with self._asking(key):
            stored = tree.read(self._path(key))
            if stored is None:
                self._require_root()
                raise Missing(f"{self.url}: there is no object {key!r}")
        return stored

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet. Its version; None if the key is taken."""
        check_key(key)
        path = self._path(key)
        with self._asking(key), self._new_file(data) as (new, version):
            with self._locked():
                tree.make_folder(os.path.dirname(path), self._root)
                try:
                    os.link(new, tree.home(path))
                except FileExistsError:
                    return None
            tree.sync(os.path.dirname(path))
        return version

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. The new version; None if it has another or is gone."""
        check_key(key)
        path = self._path(key)
        with self._asking(key), self._new_file(data) as (new, new_version):
            with self._locked():
                found = tree.facts(path)
                if found is None or tree.version(found) != version:
                    return None
                os.replace(new, tree.home(path))
            tree.sync(os.path.dirname(path))
        return new_version

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there. The new version."""
        check_key(key)
        path = self._path(key)
        with self._asking(key), self._new_file(data) as (new, version):
            with self._locked():
                tree.make_folder(os.path.dirname(path), self._root)
                os.replace(new, tree.home(path))
            tree.sync(os.path.dirname(path))
        return version

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects, and the folders that this empties; missing ones are no error."""
        paths = []
        for key in keys:
            check_key(key)
            paths.append((key, self._path(key)))
        changed = set()
        for key, path in paths:
            with self._asking(key), self._locked():
                changed.add(tree.remove(path, self._root))
        with self._asking(""):
            for folder in changed:
                tree.sync(folder)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """Objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys.

        Only folders that can hold such keys are read. Links, and files that no key can name, are left out.
        """
        check_prefix(prefix)
        return self._walk(prefix, after)

    def _walk(self, prefix: str, after: str) -> Iterator[Stat]:
        folder = prefix[: prefix.rfind("/") + 1]
        with self._asking(prefix):
            self._require_root()
            pending = tree.entries(self._path(folder[:-1]) if folder else self._root, folder, prefix, after)
        while pending:
            key, path = pending.pop()
            with self._asking(key):
                found = None if key.endswith("/") else tree.facts(path)
                if key.endswith("/"):
                    pending += tree.entries(path, key, prefix, after)
            if found:
                modified = datetime.fromtimestamp(found.st_mtime, UTC)
                yield Stat(key, tree.version(found), found.st_size, modified)

    def _path(self, key: str) -> bytes:
        return os.path.join(self._root, path_of(key))

    def _require_root(self) -> None:
        os.stat(os.path.join(self._root, b""))

    @contextmanager
    def _asking(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failure(error, key) from error

    def _failure(self, error: OSError, key: str) -> BucketError:
        where = f"{self.url}: {key!r}" if key else self.url
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return Full(f"{where}: no room is left on the disk; make some and try again")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return Denied(f"{where}: {os.strerror(error.errno).lower()}; ask the folder's owner for the right")
        if not os.path.isdir(self._root):
            return NoBucket(f"{self.url}: there is no such folder; make it, or check the bucket's URL")
        return BucketError(f"{where}: {error.strerror or error}")

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Hold the bucket's lock: of all processes and threads, one at a time changes the tree."""
        lock = self._open_lock()
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield lock
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)  # closing alone would not do while a forked child holds a copy
            os.close(lock)

    def _open_lock(self) -> int:
        path = os.path.join(self._private, b"lock")
        try:
            return os.open(path, _LOCK, _MODE)
        except FileNotFoundError:
            with suppress(FileExistsError):
                os.mkdir(self._private)
            return os.open(path, _LOCK, _MODE)

    @contextmanager
    def _new_file(self, data: bytes) -> Iterator[tuple[bytes, str]]:
        """(path, version) of a new file outside the tree that holds `data` and is safe on the disk.

        Its stamp is its name and its modification time: so a version is never given twice, also when
        the disk reuses an inode within a tick of its clock, and a listing shows it at no further cost.
        """
        with self._locked() as lock:
            stamp = _stamp(lock)
            path = os.path.join(self._private, b"%d" % stamp)
            file = os.open(path, _NEW, _MODE)
            fcntl.flock(file, fcntl.LOCK_EX)  # tells the sweep that we live
        try:
            _fill(file, data)
            os.utime(file, ns=(stamp * 1000, stamp * 1000))
            os.fsync(file)
            yield path, tree.version(os.fstat(file))
        finally:
            with suppress(FileNotFoundError):
                os.unlink(path)
            os.close(file)

    def _sweep(self) -> None:
        """Remove the files that writers left behind when they were killed. Who may only read need not."""
        with suppress(Denied), self._asking(""), self._locked(), os.scandir(self._private) as files:
            for file in files:
                with suppress(FileNotFoundError):  # its writer is just done with it
                    if file.name.isdigit() and file.is_file(follow_symlinks=False) and not _in_use(file.path):
                        os.unlink(file.path)


def _stamp(lock: int) -> int:
    """Microseconds since 1970, larger than every stamp before: the last one stands in the lock file."""
    last = os.pread(lock, 20, 0).partition(b"\n")[0]
    known = last.isdigit() and len(last) <= _STAMP_DIGITS
    stamp = max(time.time_ns() // 1000, int(last) + 1 if known else 0)
    os.pwrite(lock, b"%d\n" % stamp, 0)
    return stamp


def _fill(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _in_use(path: bytes) -> bool:
    file = os.open(path, _OLD)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False
