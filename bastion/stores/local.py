"""A bucket that is a folder of this machine: `file:///path`. Objects are ordinary files.

A new object is written and synced to the disk under `%private/`, and then appears whole: by a hard link, which refuses
to overwrite (create), or by a rename (write, replace). Each change of the tree happens under the bucket's lock, for
microseconds: the data is on the disk by then. The system releases the lock of a process that dies; other processes take
it from one that stands still, see `folder_lock`. If another folder lies in the place of the one that we began on, the
store counts as down, see `folder_identity`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import pwd
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from ..model import layout
from ..model.errors import AccessDenied, BucketError, BucketNotFound, ObjectNotFound, StoreFull, UsageError
from ..model.interfaces import Stat, StoredObject
from . import file_tree, shared_folder
from .folder_identity import NO_ROOM, FolderIdentity, FolderReplaced
from .folder_lock import MODE, NEW, OWN, PATIENCE_S, FolderLock
from .keys import PRIVATE, check_key, check_prefix, path_of
from .shared_folder import USERS

_SCHEME = "file://"
_SEAL = b"/" + layout.SEAL.encode()
"""The end of the key's path that only its owner may read."""

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_TRIES = 10
_AT_ONCE = 16
"""The most objects that are removed under one lock."""

T = TypeVar("T")


class LocalBucket:
    """A folder as a `Bucket`. Processes and threads of one machine may use it at the same time.

    `url` is `file://` and an absolute path, taken as it is (no percent-encoding). `create` makes the folder.
    `patience_s` is how long to wait for a writer that stands still, in seconds. Raises `BucketNotFound` if there is no such
    folder, `AccessDenied` if it may not be made.

    Where several accounts share the folder (see `shared_folder`), each has a lock of its own, and `logs_of` is the
    account that alone may read what is written below `logs/`; None: all may.
    """

    def __init__(
        self, url: str, *, create: bool = False, patience_s: float = PATIENCE_S, logs_of: int | None = None
    ) -> None:
        path = url.removeprefix(_SCHEME)
        if not url.startswith(_SCHEME) or not os.path.isabs(path):
            raise UsageError(f"bucket is {url!r}; give an absolute path: file:///folder")
        self._root = os.fsencode(os.path.normpath(path))
        self._logs_of = logs_of
        self._owner = _owner_of_shared(self._root)
        self._shared = self._owner is not None
        private = PRIVATE if self._owner in (None, os.geteuid()) else _own_folder(self._root)
        self._guard = FolderLock(os.path.join(self._root, private), patience_s)
        self.url = _SCHEME + os.fsdecode(self._root)
        with self._asking(""):
            if create:
                os.makedirs(self._root, exist_ok=True)
            self._folder = FolderIdentity(self._root, private, shared_folder.CLOSED if self._shared else 0o777)
        with suppress(AccessDenied), self._asking(""), suppress(FileNotFoundError):  # readers may lack the right
            self._guard.sweep()

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the whole object. Raises `ObjectNotFound`, `TooLarge`."""
        check_key(key)
        with self._asking(key):
            stored = self._read_shared(key, limit) if self._shared else file_tree.read(self._path(key), key, limit)
            self._folder.require()
            if stored is None:
                raise ObjectNotFound(f"{self.url}: there is no object {key!r}")
        return stored

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet. Return its version; None if the key is taken."""
        check_key(key)
        path = self._path(key)

        def place(grant: bytes, new: bytes) -> bool:
            file_tree.make_folder(os.path.dirname(path), self._root, grant, self._made)
            with suppress(FileExistsError), self._held(path) as place:
                os.link(new, file_tree.home(place, grant))
                return True
            return False

        with self._asking(key):
            return self._put(path, data, place)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. Return the new version; None if it has another or is gone."""
        check_key(key)
        path = self._path(key)

        def place(grant: bytes, new: bytes) -> bool:
            found = file_tree.facts(path)
            same = found is not None and file_tree.version(found) == version
            if same:
                with self._held(path) as place:
                    os.replace(new, file_tree.home(place, grant))
            return same

        with self._asking(key):
            return self._put(path, data, place)

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there. Return the new version."""
        check_key(key)
        path = self._path(key)

        def place(grant: bytes, new: bytes) -> bool:
            file_tree.make_folder(os.path.dirname(path), self._root, grant, self._made)
            with self._held(path) as place:
                os.replace(new, file_tree.home(place, grant))
            return True

        with self._asking(key):
            version = self._put(path, data, place)
        assert version is not None
        return version

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects, and the folders that become empty. Missing objects are no error."""
        paths = []
        for key in keys:
            check_key(key)
            paths.append(self._path(key))
        changed = set[bytes]()

        def remove(some: Sequence[bytes], grant: bytes | None) -> None:
            with self._guard.locked(grant):
                changed.update([file_tree.remove(path, self._root, grant, self._is_kept) for path in some])

        with self._asking(""):
            for first in range(0, len(paths), _AT_ONCE):
                some = paths[first : first + _AT_ONCE]
                try:
                    self._granted(partial(remove, some))
                except OSError as error:
                    if error.errno not in NO_ROOM:
                        raise
                    remove(some, None)  # no room even for a grant: remove without one, which frees some
            for folder in changed:
                file_tree.sync(folder)

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys.

        Only folders that can hold such keys are read. Links, and files that no key can name, are left out.
        """
        check_prefix(prefix)
        return self._walk(prefix, after)

    def ahead_s(self, *, heal: bool = False) -> float:
        """Return the seconds by which dates of objects run ahead of the file system's clock.

        They do if a clock was ahead when the last object was written. `heal`: new objects get the right date again;
        those that have a date keep it.
        """

        def change(grant: bytes) -> float:
            file = os.open(os.path.join(grant, NEW), _NEW, MODE)
            try:
                now = os.fstat(file).st_mtime_ns // 1000
                with self._guard.locked(grant, now) as stamp:
                    pass
                if heal:
                    with self._guard.locked(grant, now, anew=True):
                        pass
                return (stamp - now) / 1e6
            finally:
                os.close(file)

        with self._asking(""):
            return self._granted(change)

    def _walk(self, prefix: str, after: str) -> Iterator[Stat]:
        folder = prefix[: prefix.rfind("/") + 1]
        with self._asking(prefix):
            self._folder.require()
            pending = file_tree.entries(self._path(folder[:-1]) if folder else self._root, folder, prefix, after)
            while pending:
                key, path = pending.pop()
                if key.endswith("/"):
                    pending += file_tree.entries(path, key, prefix, after)
                elif found := file_tree.facts(path):
                    modified = datetime.fromtimestamp(found.st_mtime, UTC)
                    yield Stat(key, file_tree.version(found), found.st_size, modified)
            self._folder.require()  # if the folder went away meanwhile, the listing shows only a part: raise

    def _path(self, key: str) -> bytes:
        return os.path.join(self._root, path_of(key))

    def _read_shared(self, key: str, limit: int | None) -> StoredObject | None:
        """Read the object, and the account that put it there."""
        try:
            with file_tree.held(self._path(key), self._root) as (place, folder):
                around = os.fstat(folder)
                return file_tree.read(
                    place, key, limit, lambda file: shared_folder.owner(file, around, self._owner or 0)
                )
        except (FileNotFoundError, NotADirectoryError):
            return None

    @contextmanager
    def _held(self, path: bytes) -> Iterator[bytes]:
        """Return the path at which to change a file: where others may change folders, one that follows no link."""
        if not self._shared:
            yield path
        else:
            with file_tree.held(path, self._root) as (place, _):
                yield place

    def _is_kept(self, folder: bytes, of: os.stat_result) -> bool:
        """Return True if a folder stays when it is empty: in a shared bucket, one that others write in or own."""
        if not self._shared:
            return False
        parts = os.path.relpath(folder, self._root).split(b"/")
        return shared_folder.is_kept(parts) or of.st_uid != os.geteuid()

    def _made(self, folder: bytes) -> None:
        """Set the mode of a new folder in a shared bucket, and give an inbox to its user, also if root made it.

        The umask does not decide about modes there.
        """
        if not self._shared:
            return
        parts = os.path.relpath(folder, self._root).split(b"/")
        os.chmod(folder, shared_folder.folder_mode(parts))
        if self._owner == os.geteuid() == 0 and shared_folder.is_inbox(parts):
            with suppress(KeyError):
                os.chown(folder, pwd.getpwnam(os.fsdecode(parts[2])).pw_uid, -1, follow_symlinks=False)

    def _dress(self, file: int, path: bytes) -> None:
        """Set the mode of a new file in a shared bucket. Logs may be for one account alone."""
        if not self._shared:
            return
        parts = os.path.relpath(path, self._root).split(b"/")
        private = self._logs_of is not None and parts[1:2] == [b"logs"]
        os.fchmod(file, 0o600 if private else shared_folder.file_mode(parts))
        if private and self._logs_of is not None:
            os.fchown(file, self._logs_of, -1)

    @contextmanager
    def _asking(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failure(error, key) from error

    def _failure(self, error: OSError, key: str) -> BucketError:
        where = f"{self.url}: {key!r}" if key else self.url
        if isinstance(error, FolderReplaced):
            return BucketError(
                f"{self.url}: another folder is in the place of the bucket's folder; mount the bucket's folder again"
            )
        if error.errno in NO_ROOM:
            return StoreFull(f"{where}: no room is left on the disk; make some and try again")
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            return AccessDenied(f"{where}: {os.strerror(error.errno).lower()}; ask the folder's owner for the right")
        if not os.path.isdir(self._root):
            return BucketNotFound(f"{self.url}: there is no such folder; make it, or check the bucket's URL")
        return BucketError(f"{where}: {error.strerror or error}")

    def _put(self, path: bytes, data: bytes, place: Callable[[bytes, bytes], bool]) -> str | None:
        """Write a new file and have `place` put it in its place under the lock, by its grant and path.

        Return its version; None if `place` refused. The lock's stamp becomes its modification time, by the file
        system's clock. So a version is never given twice, even if the disk reuses an inode within one tick of that
        clock, and a listing shows it at no further cost.
        """

        def change(grant: bytes) -> str | None:
            new = os.path.join(grant, NEW)
            file = os.open(new, _NEW, OWN if path.endswith(_SEAL) else MODE)
            try:
                fcntl.flock(file, fcntl.LOCK_EX)  # shows the sweep that this writer is alive
                _fill(file, data)
                self._dress(file, path)
                os.fsync(file)
                written = os.fstat(file).st_mtime_ns // 1000  # the file system's clock; for a share, the server's
                with self._guard.locked(grant, written) as stamp:
                    os.utime(file, ns=(stamp * 1000, stamp * 1000))
                    if not place(grant, new):
                        return None
                file_tree.sync(os.path.dirname(path))
                return file_tree.version(os.fstat(file))
            finally:
                os.close(file)

        with self._folder.writing():
            return self._granted(change)

    def _granted(self, change: Callable[[bytes], T]) -> T:
        """Make a change with a grant. Begin anew if the grant was taken away while we held the lock and stood still."""
        for _ in range(_TRIES):
            self._folder.claim()
            with suppress(FileNotFoundError), self._guard.granted() as grant:
                return change(grant)
        raise BucketError(
            f"{self.url}: the lock was taken away {_TRIES} times in a row; find out why this machine stands still"
        )


def _owner_of_shared(root: bytes) -> int | None:
    """Return the account that owns a shared bucket; None for one that is not shared."""
    try:
        return os.stat(os.path.join(root, USERS)).st_uid
    except OSError:
        return None


def _own_folder(root: bytes) -> bytes:
    """Return the folder of this account's lock in another's bucket. Raises `AccessDenied` if a third account took it."""
    own = os.path.join(USERS, b"%d" % os.geteuid())
    with suppress(FileNotFoundError):
        if os.stat(os.path.join(root, own), follow_symlinks=False).st_uid != os.geteuid():
            place = os.fsdecode(os.path.join(root, own))
            raise AccessDenied(
                f"{place} belongs to another account; ask root to repair it: bastion create --local --shared"
            )
    return own


def _fill(file: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
