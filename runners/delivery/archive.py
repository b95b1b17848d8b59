"""The worker as one archive that runs on any Linux on x86_64, whatever is installed there.

It is made from this installation: its interpreter and standard library, our modules, the libraries that a worker needs,
and the C libraries below them, with their loader. Equal installations make equal bytes.

    bin/python3         a shell text: starts the interpreter by the archive's own loader
    bin/python3.bin     the interpreter
    lib/                C libraries
    lib/python3.11/     the standard library, and beside it all that is imported
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from bastion.model import layout
from bastion.model.errors import RunnerError
from bastion.model.interfaces import Bucket, Shell
from bastion.stores.create_once import create_once

from . import installation
from .bootstrap import PYTHON
from .installation import LOADER

_LEVEL = 3  # of 9: more takes longer to make than it saves to fetch
_WRAPPER = f"""#!/bin/sh
case $0 in /*) self=$0 ;; *) self=$PWD/$0 ;; esac
root=${{self%/bin/*}}
exec "$root/{LOADER}" --library-path "$root/lib" --argv0 "$self" "$root/{PYTHON}.bin" "$@"
"""


@dataclass(frozen=True, slots=True)
class Archive:
    """A build of the worker.

    digest: the SHA-256 of its `tar.gz`, in hexadecimal.
    read: returns its bytes; raises `RunnerError` if they can no longer be read.
    """

    digest: str
    read: Callable[[], bytes]


def make(shell: Shell) -> Archive:
    """Make the worker of this installation, in some seconds. Raises `RunnerError` where none can be made."""
    check()
    return made_of(installation.files(shell))


def made_of(files: Mapping[str, Path]) -> Archive:
    """Make the worker of these files of the installation. Raises `RunnerError` if one cannot be read."""
    try:
        data = packed({**files, PYTHON: _WRAPPER.encode()})
    except OSError as error:
        raise RunnerError(f"the installation of bastion cannot be read: {error}; install it again") from error
    return Archive(hashlib.sha256(data).hexdigest(), lambda: data)


def check() -> None:
    """Raise `RunnerError` unless this machine is Linux on x86_64, like the machines that have nothing."""
    here = f"{sys.platform} on {os.uname().machine}"
    if here != "linux on x86_64":
        raise RunnerError(
            f"a self-contained worker needs Linux on x86_64, but this machine is {here}; run this on such a machine"
        )


def lay_out(folder: Path, shell: Shell) -> None:
    """Lay the worker of this installation into a folder, unpacked and with all that it may need. Takes some seconds.

    The folder may be used where nothing else of the installation is present. Raises `RunnerError`, `OSError`.
    """
    check()
    for name, path in installation.files(shell, without=()).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / name)
        (folder / name).chmod(_mode(name))
    (folder / PYTHON).write_text(_WRAPPER)
    (folder / PYTHON).chmod(_mode(PYTHON))


def publish(bucket: Bucket, archive: Archive) -> str:
    """Store a build where machines find it, unless it is there. Return its key. Raises `BucketError`, `RunnerError`."""
    key = layout.build(archive.digest)
    if all(stat.key != key for stat in bucket.list(key)):  # it is large, and already stored at nearly all starts
        create_once(bucket, key, archive.read())
    return key


def packed(files: Mapping[str, Path | bytes]) -> bytes:
    """Return a `tar.gz` of these files, by path or by content, without times and owners, and in sorted order."""
    out = io.BytesIO()
    with (
        gzip.GzipFile(filename="", fileobj=out, mode="wb", compresslevel=_LEVEL, mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar,
    ):
        for name in sorted(files):
            file, member = files[name], tarfile.TarInfo(name)
            data = file.read_bytes() if isinstance(file, Path) else file
            member.size, member.mode = len(data), _mode(name)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def _mode(name: str) -> int:
    return 0o755 if name.startswith("bin/") or name == LOADER else 0o644
