"""The walk through a tree on disk. It enters only folders that `keep` selects, and follows no link."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from bastion.model.errors import BundleError

from .file_selection import IGNORE_HINT, FileEntry, FileKind, keep
from .ignore import IgnoreFile, IgnoreRule, IgnoreRules, parse

_OWN, _GIT = ".bastionignore", ".gitignore"


def walk(source: Path, *, leave_out: Sequence[Path], limit_files: int) -> list[FileEntry]:
    """Return the files, links and empty folders that go into a bundle of `source`, in order of their paths.

    `source` and `leave_out` must be absolute paths without links. Raises `BundleError` for what cannot be packed, and
    for more than `limit_files` files and folders; `OSError` for what cannot be read.
    """
    out = frozenset(str(path.relative_to(source)) for path in leave_out if source in path.parents)
    found: list[FileEntry] = []
    folders = [("", _ignore_above(source))]
    seen = 0
    while folders:
        folder, above = folders.pop()
        listing = _listing(source, folder)
        ignore = _ignore_in(source, folder, listing, above)
        kept = keep(folder, listing, ignore, out)
        folders += [(entry.path, ignore) for entry in kept if entry.kind is FileKind.FOLDER]
        found += [entry for entry in kept if entry.kind is not FileKind.FOLDER]
        found += [FileEntry(folder, FileKind.FOLDER)] if folder and not listing else []
        seen += len(kept)
        if seen > limit_files:
            raise BundleError(f"'{source}' holds more than {limit_files} files and folders to pack; {IGNORE_HINT}")
    return sorted(found, key=lambda entry: entry.path)


def _listing(source: Path, folder: str) -> list[FileEntry]:
    with os.scandir(source / folder) as found:
        return [_entry(one, f"{folder}/{one.name}" if folder else one.name) for one in found]


def _entry(found: os.DirEntry[str], path: str) -> FileEntry:
    if found.is_symlink():
        return FileEntry(path, FileKind.LINK, target=os.readlink(found))
    if found.is_dir():
        return FileEntry(path, FileKind.FOLDER)
    if not found.is_file():
        return FileEntry(path, FileKind.OTHER)
    facts = found.stat()
    return FileEntry(path, FileKind.FILE, size=facts.st_size, executable=bool(facts.st_mode & stat.S_IXUSR))


def _ignore_above(source: Path) -> IgnoreRules:
    """Return the rules of the folders above the source, up to the top of its git repository, if it is in one."""
    chain = [source, *source.parents]
    top = next((at for at, folder in enumerate(chain) if (folder / ".git").exists()), 0)
    ignore = IgnoreRules()
    for folder in reversed(chain[1 : top + 1]):
        above = f"{source.relative_to(folder).as_posix()}/"
        own, git = (IgnoreFile(_rules(folder / name), above=above) for name in (_OWN, _GIT))
        ignore = ignore.with_files(own, git)
    return ignore


def _ignore_in(source: Path, folder: str, listing: Sequence[FileEntry], above: IgnoreRules) -> IgnoreRules:
    names = {entry.name for entry in listing}
    cut = len(folder) + 1 if folder else 0
    own, git = (IgnoreFile(_rules(source / folder / name) if name in names else (), cut) for name in (_OWN, _GIT))
    return above.with_files(own, git)


def _rules(path: Path) -> tuple[IgnoreRule, ...]:
    if path.is_symlink() or not path.is_file():  # git does not read links here either
        return ()
    return parse(path.read_bytes().decode(errors="surrogateescape"), str(path))
