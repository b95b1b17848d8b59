"""Secrets in a folder of the machine: one file each, which only the worker's account may read or place there.

`users/<user>/NAME` is for one user's jobs, `projects/<project>/NAME` for one project's, `NAME` for all; the first one
that exists counts. A mounted Kubernetes secret is such a folder.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from bastion.model.errors import SecretError

VALUE_MAX = 32 * 1024
_PUT = stat.S_IWGRP | stat.S_IWOTH
_GET = stat.S_IWGRP | stat.S_IRWXO


class FolderSecrets:
    """The secrets below `folder`, which need not exist."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def reveal(self, name: str, *, user: str, project: str) -> str:
        """Return the text of the file, without one newline at its end. Raises `SecretError`."""
        places = (f"users/{user}/{name}", f"projects/{project}/{name}", name)
        try:
            for place in places:
                value = self._read(self._folder / place, name)
                if value is not None:
                    return value
        except OSError as error:
            raise SecretError(f"secret {name} cannot be read: {error}; ask the admin of the machine") from error
        raise SecretError(
            f"secret {name} is not on this machine: '{self._folder}' has no file {', '.join(places[:-1])} or {name};"
            " put its value into one of them, with mode 600"
        )

    def _read(self, path: Path, name: str) -> str | None:
        """Return what the file holds; None if there is none."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        with open(descriptor, "rb") as file:
            self._check(path, os.fstat(descriptor), name)
            data = file.read(VALUE_MAX + 2)
        return checked(data, name, f"'{path}'")

    def _check(self, path: Path, found: os.stat_result, name: str) -> None:
        """Raise `SecretError` unless the file is safe, and its folders let no other account place a file there."""
        if not stat.S_ISREG(found.st_mode):
            raise SecretError(f"secret {name} is no regular file; replace '{path}'")
        if not _is_ours(found) or found.st_mode & _GET:
            raise SecretError(
                f"secret {name} is not safe in '{path}': {_owner()} must own it, and no other account may read it; chmod 600"
            )
        for folder in (path.parent, *path.parent.parents):
            status = os.stat(folder)
            if not _is_ours(status) or (status.st_mode & _PUT and not _is_read_only(folder)):
                raise SecretError(
                    f"secret {name} is not safe: other accounts could place a file in '{folder}'; chmod 700 that folder"
                )
            if folder == self._folder:
                return


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid in {os.geteuid(), 0}


def _owner() -> str:
    return "root" if os.geteuid() == 0 else f"uid {os.geteuid()} or root"


def _is_read_only(folder: Path) -> bool:
    """Return True if the folder cannot be written, whatever its mode says.

    A mounted Kubernetes secret is such a folder.
    """
    return bool(os.statvfs(folder).f_flag & os.ST_RDONLY)


def checked(data: bytes, name: str, place: str) -> str:
    """Return the value as text for a variable, without one newline at its end.

    Raises `SecretError` if it is empty, longer than `VALUE_MAX` bytes, or holds a NUL.
    """
    text = os.fsdecode(data.removesuffix(b"\n").removesuffix(b"\r"))
    if not text or "\0" in text or len(data) > VALUE_MAX:
        raise SecretError(f"secret {name} is empty, longer than {VALUE_MAX} bytes or holds a NUL: see {place}")
    return text
