"""A folder as the bucket of several accounts of one machine: the files and folders that each of them may change.

All accounts read the queue. Each account writes its own requests, and adds bundles and watches; all else belongs to the
owner, who runs the bastion. Only the bucket's root checks the group that shares the bucket: an account that may pass
there meets the same modes as all others. Modes are set, not left to the umask, so it does not matter which account
comes first.

An account keeps its own lock and its half-written files in a folder of its own, so that no other account stops it, or
the bastion.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ..model import layout
from .keys import PRIVATE

USERS = b"users" + PRIVATE
"""The parent of each account's folder. Where it exists, the bucket is shared. No key can name it."""

OPEN, PASSED, CLOSED = 0o1777, 0o755, 0o700
_SHARED_WATCH = 0o777
_OPEN = frozenset({layout.INBOX, layout.BUNDLES, layout.WATCH})
_CLOSED = frozenset({layout.ATTEMPTS, layout.CLAIMS, layout.BEATS, layout.BUILDS})
_READ = frozenset(
    {layout.JOURNAL, layout.SNAPSHOTS, layout.ENDED, layout.FACTS, layout.LOGS, layout.BASTION_LOG, layout.OUTPUTS}
)
_TOPS = (*_OPEN, *_CLOSED, *_READ, "project-quotas/")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ANY = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TOP_FLOOR, _INBOX_FLOOR = 2, 3
NOBODY = -1
"""The owner of a file that more than one account may have put there."""


def folder_mode(parts: Sequence[bytes]) -> int:
    """Return the mode of a folder from its path below the bucket's root.

    The path begins with a bastion's name and one of its prefixes.
    """
    prefix = _prefix(parts)
    if prefix in _CLOSED:
        return CLOSED
    if prefix in _OPEN and len(parts) == 2:
        return OPEN
    # A user who follows a job rewrites the object that another follower of it wrote.
    return _SHARED_WATCH if prefix == layout.WATCH else PASSED


def file_mode(parts: Sequence[bytes]) -> int:
    """Return the mode of a file. Only its user and the bastion may read code, and only the bastion the seal."""
    return 0o600 if _prefix(parts) in {*_CLOSED, layout.BUNDLES, f"{layout.SEAL}/"} else 0o644


def is_inbox(parts: Sequence[bytes]) -> bool:
    """Return True for the folder of one user's requests."""
    return len(parts) == _INBOX_FLOOR and _prefix(parts) == layout.INBOX


def is_kept(parts: Sequence[bytes]) -> bool:
    """Return True for a folder that stays when it is empty: another account would give it another mode, or owner."""
    return is_inbox(parts) or (len(parts) == _TOP_FLOOR and _prefix(parts) in _TOPS)


def _prefix(parts: Sequence[bytes]) -> str:
    return os.fsdecode(parts[1]) + "/" if len(parts) > 1 else ""


def owner(file: os.stat_result, folder: os.stat_result, root: int) -> int:
    """Return the account that put a file into a folder of a shared bucket, whose owner is `root`.

    A hard link brings another account's file into a folder of one's own. So a file in an account's folder belongs to
    that account, or to nobody. The bucket's owner may write in all folders; its files count as those of the account
    that owns the folder.
    """
    if folder.st_uid in (file.st_uid, root):
        return file.st_uid
    if file.st_uid == root and not folder.st_mode & 0o022:
        return folder.st_uid
    return NOBODY


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderMode:
    """One folder, with the mode, owner and group that it must have.

    path: the folder.
    mode: its mode.
    uid: number of its owner.
    gid: number of its group; None: any group.
    """

    path: bytes
    mode: int
    uid: int
    gid: int | None = None

    def fault(self) -> str:
        """Return how the folder differs, in words; empty if it does not."""
        try:
            found = os.stat(self.path, follow_symlinks=False)
        except FileNotFoundError:
            return f"{os.fsdecode(self.path)} is missing"
        except PermissionError:
            return ""  # this account may not see it
        if not stat.S_ISDIR(found.st_mode):
            return f"{os.fsdecode(self.path)} is not a folder"
        if found.st_uid != self.uid:
            return f"{os.fsdecode(self.path)} belongs to account {found.st_uid} instead of {self.uid}"
        if self.gid is not None and found.st_gid != self.gid:
            return f"{os.fsdecode(self.path)} belongs to group {found.st_gid} instead of {self.gid}"
        mode = stat.S_IMODE(found.st_mode)
        return "" if mode == self.mode else f"{os.fsdecode(self.path)} has mode {mode:04o} instead of {self.mode:04o}"

    def make(self) -> None:
        """Make the folder, or correct it. A link in its place is not followed. Raises `OSError`."""
        with suppress(FileExistsError):
            os.mkdir(self.path, self.mode)
        file = os.open(self.path, _FOLDER)
        try:
            os.fchown(file, self.uid, -1 if self.gid is None else self.gid)
            os.fchmod(file, self.mode)
        finally:
            os.close(file)


def wanted(root: str, name: str, gid: int | None, accounts: Mapping[str, int], uid: int) -> Iterator[FolderMode]:
    """List the folders of a shared bucket, and of a bastion in it, whose modes matter. A folder precedes its contents.

    `gid` is the group that shares it; None: all accounts do. `accounts` are the known users, with their numbers. `uid`
    is the owner of all.
    """
    path = os.fsencode(root)
    at = os.path.join(path, os.fsencode(name))
    yield FolderMode(path=path, mode=PASSED if gid is None else 0o750, uid=uid, gid=gid)
    yield FolderMode(path=os.path.join(path, PRIVATE), mode=CLOSED, uid=uid)
    yield FolderMode(path=os.path.join(path, USERS), mode=OPEN, uid=uid)
    for number in accounts.values():
        yield FolderMode(path=os.path.join(path, USERS, b"%d" % number), mode=CLOSED, uid=number)
    yield FolderMode(path=at, mode=PASSED, uid=uid)
    for top in _TOPS:
        part = os.fsencode(top.rstrip("/"))
        yield FolderMode(path=os.path.join(at, part), mode=folder_mode((b"", part)), uid=uid)
    for user, number in {"root": uid, **accounts}.items():
        yield FolderMode(path=os.path.join(at, os.fsencode(layout.INBOX + user)), mode=PASSED, uid=number)


def mend(root: str, name: str) -> None:
    """Set the modes of all that the bastion of this name has written so far, when its bucket begins to be shared."""
    top = os.fsencode(os.path.join(root, name))
    given = {os.fsencode(layout.OUTPUTS.rstrip("/")), os.fsencode(layout.INBOX.rstrip("/"))}
    for folder, folders, files, descriptor in os.fwalk(top, follow_symlinks=False):
        here = (os.fsencode(name), *filter(None, os.path.relpath(folder, top).removeprefix(b".").split(b"/")))
        if len(here) == 2 and here[1] in given:
            folders.clear()
            continue
        for part, mode in _modes(here, folders, files):
            with suppress(FileNotFoundError):
                _set(part, mode, descriptor)


def _set(part: bytes, mode: int, folder: int) -> None:
    """Set the mode of a file or a folder. A link is left alone: it may lead to a file outside the bucket."""
    try:
        file = os.open(part, _ANY, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):  # a link, or a socket
            return
        raise
    try:
        found = os.fstat(file)
        if stat.S_ISDIR(found.st_mode) or (stat.S_ISREG(found.st_mode) and found.st_nlink == 1):
            os.fchmod(file, mode)
    finally:
        os.close(file)


def _modes(here: Sequence[bytes], folders: Iterable[bytes], files: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    yield from ((part, folder_mode((*here, part))) for part in folders)
    yield from ((part, file_mode((*here, part))) for part in files)


def closed_above(root: str) -> str:
    """Return the first folder above the bucket that not all accounts may pass; empty if there is none."""
    path = os.path.dirname(os.path.abspath(root))
    above = [path]
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        above.append(path)
    for folder in reversed(above):
        if os.path.isdir(folder) and not os.stat(folder).st_mode & stat.S_IXOTH:
            return folder
    return ""
