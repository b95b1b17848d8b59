"""The files of a local bucket: find the file of an object, read it, list a folder, change the tree.

Call the functions that change the tree under the bucket's lock, with a grant of `folder_lock`: a file that leaves the
tree moves into the grant, and one that steps aside goes through it. Changes that are not such moves do no harm if they
come late. Raises `OSError`.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from ..model.interfaces import StoredObject
from .keys import ASIDE, check_size, is_key, part_of

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_PASS = _FOLDER | os.O_NOFOLLOW
_BY_DESCRIPTOR = os.path.isdir("/proc/self/fd")
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO)


OwnerOf = Callable[[os.stat_result], int]
"""Returns the account that put a file there."""

Kept = Callable[[bytes, os.stat_result], bool]
"""Returns True for a folder that stays when it is empty."""


@contextmanager
def _way(folder: bytes, root: bytes) -> Iterator[list[int]]:
    """Open the root and each folder from there to this one, which lies below it. Return the descriptors.

    No link below the root is followed: where others may change folders, one could become a link between two looks at
    it.
    """
    way = [os.open(root, _FOLDER)]
    try:
        for part in _parts(folder, root):
            way.append(os.open(part, _PASS, dir_fd=way[-1]))
        yield way
    finally:
        for descriptor in way:
            os.close(descriptor)


def _parts(folder: bytes, root: bytes) -> list[bytes]:
    return [] if folder == root else os.path.relpath(folder, root).split(b"/")


@contextmanager
def held(path: bytes, root: bytes, place: tuple[int, int] | None = None) -> Iterator[tuple[bytes, int]]:
    """Return the same path by a descriptor of its folder, and the descriptor. No link below the root was followed.

    `place` is the device and the inode that the root must have. A system without `/proc` has no such paths: there the
    result is the path itself, which was only checked.
    """
    with _way(os.path.dirname(path), root) as way:
        at = os.fstat(way[0])
        if place not in (None, (at.st_dev, at.st_ino)):
            raise NotADirectoryError(errno.ENOTDIR, "another folder is in the place of this one", os.fsdecode(root))
        yield _at(path, way[-1]), way[-1]


def _at(path: bytes, folder: int) -> bytes:
    return b"/proc/self/fd/%d/%s" % (folder, os.path.basename(path)) if _BY_DESCRIPTOR else path


def read(path: bytes, key: str, limit: int | None, owner: OwnerOf = lambda file: file.st_uid) -> StoredObject | None:
    """Read the object of this path; None if there is none.

    It looks in the object's place first, and then aside: objects move only in this direction. Raises `TooLarge`, naming
    the key, for one of more than `limit` bytes.
    """
    return _read_file(path, key, limit, owner) or _read_file(path + ASIDE, key, limit, owner)


def facts(path: bytes) -> os.stat_result | None:
    """Return the `stat` of the object's file; None if there is none."""
    for place in (path, path + ASIDE):
        with suppress(FileNotFoundError, NotADirectoryError):
            found = os.lstat(place)
            if stat.S_ISREG(found.st_mode):
                return found
    return None


def version(file: os.stat_result) -> str:
    """Return the version of a file. It changes with every write: each file gets a modification time of its own."""
    return f"{file.st_mtime_ns}-{file.st_ino}"


def home(path: bytes, grant: bytes | None) -> bytes:
    """Return the place where the object of this path lies, or would lie."""
    aside = path + ASIDE
    if not os.path.lexists(aside):
        return aside if os.path.isdir(path) else path
    if os.path.lexists(path) and not os.path.isdir(path):  # a writer began to set it aside and did not finish
        _take(path, grant)
    return aside


def make_folder(folder: bytes, root: bytes, grant: bytes, made: Callable[[bytes], None] = lambda _: None) -> None:
    """Make a folder and those above it, below the root; call `made` for each. An object in the way is set aside."""
    missing = []
    while not os.path.isdir(folder):
        if folder == root:
            raise FileNotFoundError(errno.ENOENT, "no such folder")
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        if os.path.lexists(folder):
            kept = os.path.join(grant, b"kept")
            os.link(folder, kept, follow_symlinks=False)
            os.rename(kept, folder + ASIDE)
            _take(folder, grant)
        with suppress(FileExistsError):
            os.mkdir(folder)
            made(folder)
        sync(os.path.dirname(folder))


def remove(path: bytes, root: bytes, grant: bytes | None, kept: Kept) -> bytes:
    """Remove an object, if there is one, and the folders that become empty, except those that are `kept`.

    Return the folder whose entries changed. No link is followed: a job's account may have put one in the place of a
    folder that it has in the bucket, since it was listed.
    """
    folder = os.path.dirname(path)
    try:
        with _way(folder, root) as way:
            _take(home(_at(path, way[-1]), grant), grant)
            with suppress(OSError):  # the usual end: the folder is not empty
                while len(way) > 1 and not kept(folder, os.fstat(way[-1])):
                    os.rmdir(os.path.basename(folder), dir_fd=way[-2])
                    os.close(way.pop())
                    folder = os.path.dirname(folder)
    except (FileNotFoundError, NotADirectoryError):
        os.stat(grant or root)  # raises if the grant, or the root, is what is missing
    return folder


def _take(place: bytes, grant: bytes | None) -> None:
    """Move a file out of the tree: into the grant if there is one."""
    if grant is None:
        os.unlink(place)
    else:
        os.rename(place, os.path.join(grant, b"taken"))


def sync(folder: bytes) -> None:
    """Make a folder's entries survive a power failure, unless it was just emptied and removed."""
    with suppress(FileNotFoundError, NotADirectoryError):
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def entries(path: bytes, folder: str, prefix: str, after: str) -> list[tuple[str, bytes]]:
    """List (key, path) of what a listing may want from a folder, last key first; a folder's key ends in a slash."""
    try:
        found = os.scandir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    least = after.removeprefix(folder).partition("/")[0].encode() if after.startswith(folder) else b""
    with found:
        named = {key: entry.path for entry in found if _may_follow(entry.name, least) and (key := _key(entry, folder))}
    return sorted(((key, place) for key, place in named.items() if _wanted(key, prefix, after)), reverse=True)


def _may_follow(name: bytes, least: bytes) -> bool:
    """Return False for a name before `least`. This cheap check lets a listing skip most of a long journal."""
    return name >= least or least.startswith(name) or b"%" in name


def _key(entry: os.DirEntry[bytes], folder: str) -> str | None:
    """Return the key of a folder's entry; None if it is none of ours: a link, a pipe, a name that no key has."""
    named = part_of(entry.name)
    if named is None or not is_key(folder + named[0]):
        return None
    if entry.is_dir(follow_symlinks=False):
        return None if named[1] else f"{folder}{named[0]}/"
    return folder + named[0] if entry.is_file(follow_symlinks=False) else None


def _wanted(key: str, prefix: str, after: str) -> bool:
    """Return True if this key is asked for, or, for a folder, if a key below it may be."""
    return key.startswith(prefix) and (key > after or (key.endswith("/") and after.startswith(key)))


def _read_file(path: bytes, key: str, limit: int | None, owner: OwnerOf) -> StoredObject | None:
    """Read an ordinary file; None for anything else. A link or a pipe in its place must not mislead or block us."""
    try:
        file = os.open(path, _READ)
    except OSError as error:
        if error.errno in _NO_FILE:
            return None
        raise
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            return None
        check_size(found.st_size, key, limit, owner(found))
        with open(file, "rb", buffering=0, closefd=False) as whole:
            return StoredObject(whole.readall(), version(found), owner(found))
    finally:
        os.close(file)
