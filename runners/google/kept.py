"""The last build of the worker, kept on this machine: it is made anew only when the installation has changed."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from bastion.ports import Shell
from runners.google import archive, installation
from runners.google.archive import Archive


def kept_in(folder: Path, shell: Shell) -> Archive:
    """The worker of this installation: as it was kept, or made now and kept if the folder takes it. Raises `RunnerError`."""
    archive.check()
    file = folder / f"{_state(shell)}.tar.gz"
    with suppress(OSError):
        data = file.read_bytes()
        return Archive(data, hashlib.sha256(data).hexdigest())
    made = archive.make(shell)
    with suppress(OSError):
        _keep(file, made.data)
    return made


def _keep(file: Path, data: bytes) -> None:
    """Keep it whole or not at all, and none but it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    half = file.with_name(f"{os.getpid()}.half")
    half.write_bytes(data)
    half.replace(file)
    for other in file.parent.iterdir():
        if other != file:
            other.unlink()


def _state(shell: Shell) -> str:
    """A word for all files of the installation, their sizes and times."""
    state = hashlib.sha256()
    for name, path in sorted(installation.files(shell).items()):
        found = path.stat()
        state.update(f"{name}\0{path}\0{found.st_size}\0{found.st_mtime_ns}\n".encode())
    return state.hexdigest()
