"""The choice of the files that go into a bundle, and of the sources that are refused. Pure: `walk` reads the disk."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from bastion.model.errors import BundleError

from .ignore import IgnoreRules
from .safe_names import link_fault, name_fault

IGNORE_HINT = "name what the job does not need in .bastionignore"

_NEVER = {".git", "__pycache__"}
_ENVIRONMENT = "pyvenv.cfg"
_NAMED = 10


class FileKind(Enum):
    """The kind of what is at a path. Messages use the value of OTHER.

    FILE: a regular file.
    LINK: a symbolic link.
    FOLDER: a folder.
    OTHER: a socket, fifo or device, which cannot be packed.
    """

    FILE = "file"
    LINK = "link"
    FOLDER = "folder"
    OTHER = "socket, fifo or device"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file, link or folder of the tree, as it is on disk.

    path: the path below the root of the tree.
    kind: what it is.
    size: the size in bytes; 0 for all but files.
    executable: True if the owner may execute the file.
    target: where a link points to; empty for all but links.
    """

    path: str
    kind: FileKind
    size: int = 0
    executable: bool = False
    target: str = ""

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition("/")[2]


def check_source(source: Path, home: Path, leave_out: Sequence[Path]) -> None:
    """Raise `BundleError` if the source is the home folder or above it, or is a folder of `leave_out` or inside one.

    All paths must be absolute and without links.
    """
    if source == home or source in home.parents:
        what = "the home folder" if source == home else "above the home folder"
        raise BundleError(f"source is '{source}', {what}; start from the folder of your code")
    for folder in leave_out:
        if source == folder or folder in source.parents:
            raise BundleError(f"source '{source}' lies in the bucket '{folder}'; start from the folder of your code")


def keep(folder: str, listing: Sequence[FileEntry], ignore: IgnoreRules, leave_out: frozenset[str]) -> list[FileEntry]:
    """Return the entries of a folder's listing that go in. Raises `BundleError` for one that cannot and is not ignored.

    Always left out are `.git`, `__pycache__`, the paths of `leave_out`, and virtual environments below the root,
    because they hold absolute paths and work on no other machine.
    """
    if folder and any(entry.name == _ENVIRONMENT for entry in listing):
        return []
    kept = [
        entry
        for entry in listing
        if entry.name not in _NEVER
        and entry.path not in leave_out
        and not ignore.drops(entry.path, entry.kind is FileKind.FOLDER)
    ]
    for entry in kept:
        _check_entry(entry)
    return kept


def _check_entry(entry: FileEntry) -> None:
    if fault := name_fault(entry.path):
        raise BundleError(f"name {entry.path!a} {fault}; rename it, or {IGNORE_HINT}")
    if entry.kind is FileKind.OTHER:
        raise BundleError(f"'{entry.path}' is a {FileKind.OTHER.value}; remove it, or {IGNORE_HINT}")
    if entry.kind is FileKind.LINK and (fault := link_fault(entry.path, entry.target)):
        raise BundleError(
            f"link '{entry.path}' points to {entry.target!a}, which {fault};"
            f" use a relative link that stays in the folder, or {IGNORE_HINT}"
        )


def check_size(source: Path, entries: Sequence[FileEntry], limit_bytes: int) -> None:
    """Raise `BundleError`, naming the ten largest files, if all files together hold more than the limit."""
    total = sum(entry.size for entry in entries)
    if total <= limit_bytes:
        return
    largest = heapq.nlargest(_NAMED, entries, key=lambda entry: entry.size)
    named = ", ".join(f"{entry.path} ({_mib(entry.size)})" for entry in largest)
    raise BundleError(
        f"'{source}' holds {_mib(total)} to pack, the limit is {_mib(limit_bytes)}; {IGNORE_HINT}; the largest: {named}"
    )


def _mib(size: int) -> str:
    return f"{size / 2**20:.1f} MiB"
