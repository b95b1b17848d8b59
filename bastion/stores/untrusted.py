"""Read and write files that a job could have made, replaced or removed, even while we look at them.

A link, a pipe, a device, a folder or a terabyte may lie in their place. It is not followed, it does not block the
reader, and no more of it is read than was asked for.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

_HOW = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class NotRegularFile(OSError):
    """Something else lies where a regular file should be."""


def opened(path: str | Path, how: int = os.O_RDONLY, mode: int = 0o600, folder: int | None = None) -> int:
    """Open a regular file, below an open `folder` if one is given. Return its descriptor.

    Raises `NotRegularFile` for other things, and `OSError`.
    """
    try:
        file = os.open(path, how | _HOW, mode, dir_fd=folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR, errno.EMLINK):
            raise _none(path) from error
        raise
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise _none(path)
    return file


def _none(path: str | Path) -> NotRegularFile:
    return NotRegularFile(errno.EINVAL, "not a regular file", str(path))


def tail(path: str | Path, most: int) -> bytes:
    """Return at most the last `most` bytes of a file. Raises as `opened`."""
    file = opened(path)
    try:
        return os.pread(file, most, max(0, os.fstat(file).st_size - most))
    finally:
        os.close(file)


def whole(path: str | Path, most: int, folder: int | None = None) -> bytes:
    """Return all of a file that has at most `most` bytes. Raises as `opened`, and `OSError` for a larger one."""
    file = opened(path, folder=folder)
    try:
        if os.fstat(file).st_size > most:
            raise OSError(errno.EFBIG, f"larger than {most} bytes", str(path))
        data = os.pread(file, most + 1, 0)
    finally:
        os.close(file)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"larger than {most} bytes", str(path))
    return data


def whole_below(folder: str | Path, name: str, most: int) -> bytes:
    """Do the same for a path below a folder that is ours. No folder on the way is followed if it is a link."""
    *ways, last = name.split("/")
    descriptor = os.open(folder, _FOLDER)
    try:
        for way in ways:
            inner = os.open(way, _FOLDER | os.O_NOFOLLOW, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        return whole(last, most, descriptor)
    finally:
        os.close(descriptor)


def put(path: str | Path, data: bytes, mode: int = 0o644) -> None:
    """Write `data` to a file, as a whole or not at all, whatever lies in its place. Raises `OSError`."""
    fresh = f"{path}.new"
    with suppress(FileNotFoundError):
        os.unlink(fresh)
    file = os.open(fresh, _NEW, mode)
    try:
        with open(file, "wb") as stream:
            stream.write(data)
        os.replace(fresh, path)
    except OSError:
        os.unlink(fresh)
        raise


def put_aside(path: str | Path) -> None:
    """Move away what lies in the place of a file, of any kind, to make room for a new one. Raises `OSError`."""
    os.rename(path, f"{path}.{os.getpid()}.aside")
