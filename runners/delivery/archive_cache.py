"""The last build of the worker, kept on this machine: it is made anew only when the installation has changed.

Beside the archive lies a manifest, which names all files that are in it, and says what they were like: so to know that
the archive is this installation's takes a look at each of them, and no reading. It is no secret and no promise to others.
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
"""Where an installation that never changes, as an image, brings its worker along."""

_MANIFEST = "manifest.json"


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a kept archive is: its `digest`, the `files` that it was made of, and what these were like."""

    digest: str
    files: list[str]
    state: str


def kept_in(folders: Sequence[Path], shell: Shell) -> Archive:
    """The worker of this installation: as one of the folders keeps it, or made now and kept in the last, if that takes it.

    Raises `RunnerError`.
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
    """Make the worker of this installation, and keep it in the folder. Raises `RunnerError`, `OSError`."""
    archive.check()
    _keep(folder, *_made(shell))


def _found(folder: Path, shell: Shell) -> Archive | None:
    """What the folder keeps, if it is this installation's."""
    try:
        manifest = msgspec.json.decode((folder / _MANIFEST).read_bytes(), type=Manifest)
        if _state(manifest.files) != manifest.state:
            return None
    except (OSError, ValueError):
        return None
    return Archive(manifest.digest, lambda: _bytes(folder, manifest.digest, shell))


def _bytes(folder: Path, digest: str, shell: Shell) -> bytes:
    """The bytes of a kept archive; where they are damaged they are made again, since equal installations make equal bytes."""
    with suppress(OSError):
        data = _file(folder, digest).read_bytes()
        if hashlib.sha256(data).hexdigest() == digest:
            return data
    made = archive.make(shell)
    if made.digest != digest:
        raise RunnerError(
            f"the worker in {folder} is damaged, and is not made again alike; remove that folder, and start again"
        )
    return made.read()


def _made(shell: Shell) -> tuple[Archive, Manifest]:
    files = installation.files(shell)
    paths = sorted({str(path) for path in files.values()})
    state = _state(paths)  # before any is read: what changes meanwhile is not taken for what it was
    made = archive.made_of(files)
    return made, Manifest(digest=made.digest, files=paths, state=state)


def _keep(folder: Path, made: Archive, manifest: Manifest) -> None:
    """Keep it whole or not at all, and none but it."""
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
    """A word for these files, their sizes and times, and for all packages beside them: what is installed may add to a worker.

    Whole seconds, for layers of images keep no more. Raises `OSError` if one is not there.
    """
    state = hashlib.sha256()
    for path in paths:
        found = os.stat(path)
        state.update(f"{path}\0{found.st_size}\0{int(found.st_mtime)}\n".encode())
    for name in sorted(path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")):
        state.update(f"{name}\n".encode())
    return state.hexdigest()
