"""The last build of the worker on this machine: it is made again only when the installation has changed.

A manifest beside the archive lists all files in it with their sizes and times. So a check that the archive belongs to
this installation only looks at each file and reads none. The manifest is no secret, and guarantees nothing to others.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Shell

from . import archive, installation
from .archive import Archive

LAID = Path(sys.prefix, "share", "bastion-worker")
"""The folder where an installation that never changes, such as an image, keeps its worker."""

_MANIFEST = "manifest.json"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The description of a cached archive.

    digest: the digest of the archive.
    files: the files that it was made of.
    state: a digest of the names, sizes and times of these files and of the installed packages.
    """

    digest: str
    files: list[str]
    state: str


def kept_in(folders: Sequence[Path], shell: Shell) -> Archive:
    """Return the worker of this installation: from one of the folders, or made now and stored in the last one.

    If the last folder cannot be written, the build is not stored. Raises `RunnerError`.
    """
    archive.check()
    for folder in folders:
        if found := _found(folder, shell):
            return found
    made, manifest = _made(shell)
    with suppress(OSError):
        _keep(folders[-1], made, manifest)
    return made


def lay(folder: Path, shell: Shell) -> None:
    """Make the worker of this installation, and store it in the folder. Raises `RunnerError`, `OSError`."""
    archive.check()
    _keep(folder, *_made(shell))


def _found(folder: Path, shell: Shell) -> Archive | None:
    """Return the archive in the folder, if it is of this installation."""
    try:
        manifest = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=Manifest)
        if _state(manifest.files) != manifest.state:
            return None
    except (OSError, ValueError):
        return None
    return Archive(manifest.digest, lambda: _bytes(folder, manifest.digest, shell))


def _bytes(folder: Path, digest: str, shell: Shell) -> bytes:
    """Return the bytes of a cached archive.

    If they are damaged, make them again: equal installations make equal bytes.
    """
    with suppress(OSError):
        data = _file(folder, digest).read_bytes()
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    made = archive.make(shell)
    if made.digest != digest:
        raise RunnerError(
            f"the worker in {folder} is damaged and cannot be repaired; remove that folder, and start again"
        )
    return made.read()


def _made(shell: Shell) -> tuple[Archive, Manifest]:
    files = installation.files(shell)
    paths = sorted({str(path) for path in files.values()})
    state = _state(paths)  # before any file is read: a change meanwhile makes the cached archive invalid
    made = archive.made_of(files)
    return made, Manifest(digest=made.digest, files=paths, state=state)


def _keep(folder: Path, made: Archive, manifest: Manifest) -> None:
    """Store the archive completely or not at all, and remove all others."""
    folder.mkdir(parents=True, exist_ok=True)
    file = _file(folder, made.digest)
    for path, data in ((file, made.read()), (folder / _MANIFEST, msgspec.json.encode(manifest))):
        half = folder / f"{os.getpid()}.half"
        half.write_bytes(data)
        half.replace(path)
    for other in set(folder.iterdir()) - {file, folder / _MANIFEST}:
        other.unlink()


def _file(folder: Path, digest: str) -> Path:
    return folder / f"{digest}.tar.gz"


def _state(paths: Iterable[str]) -> str:
    """Return a digest of these files, their sizes and times, and of all packages beside them.

    A package that is installed later may add to a worker. Times are in whole seconds, because layers of images keep no
    more. Raises `OSError` if a file is missing.
    """
    state = hashlib.sha256()
    for path in paths:
        found = os.stat(path)
        state.update(f"{path}\0{found.st_size}\0{int(found.st_mtime)}\n".encode())
    for name in sorted(path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")):
        state.update(f"{name}\n".encode())
    return state.hexdigest()
