"""Unpacking of a bundle on the machine that runs it. Its bytes come from a stranger, so nothing in them is trusted.

The digest is checked first. Then the name, kind and size of each member are checked before it is written. All is
written to a folder beside the target, which takes the target's name only when it is complete. Links are made last, so
that nothing can be written through one.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Protocol, cast

from bastion.model.errors import BundleError

from .interface import LIMIT_BYTES, LIMIT_FILES
from .safe_names import link_fault, name_fault

PACKED_BYTES = LIMIT_BYTES + 2**27
"""The most bytes of a packed bundle that a reader should accept: badly packed files, and their headers."""

_CHUNK = 2**20
_HEADER_ROOM = 2**16
_WINDOW = 2**23


def unpack(
    data: bytes | Path, digest: str, target: Path, *, limit_bytes: int = LIMIT_BYTES, limit_files: int = LIMIT_FILES
) -> None:
    """Unpack a `tar` bundle, given as bytes or as the path of a file, to `target`, which must be absent or empty.

    `limit_bytes` bounds the sizes of all files together, `limit_files` the number of files and folders. Raises
    `BundleError` if the bytes do not have the `digest` (SHA-256, hexadecimal), hold what a bundle of ours cannot hold,
    or cannot be written; the target is then as it was.
    """
    try:
        with open(data, "rb") if isinstance(data, Path) else io.BytesIO(data) as packed:
            _check_digest(packed, digest)
            packed.seek(0)
            target.parent.mkdir(parents=True, exist_ok=True)
            _unpack_beside(packed, target, _Admission(limit_bytes, limit_files))
    except OSError as error:
        raise BundleError(f"cannot unpack bundle {digest[:12]} to '{target}': {error}") from error


def _check_digest(packed: IO[bytes], digest: str) -> None:
    sha = hashlib.sha256()
    while chunk := packed.read(_CHUNK):
        sha.update(chunk)
    if sha.hexdigest() != digest:
        raise BundleError(f"bundle {digest} has bytes of digest {sha.hexdigest()}; launch the job again")


def _unpack_beside(packed: IO[bytes], target: Path, admission: _Admission) -> None:
    beside = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    try:
        _extract(packed, beside, admission)
        beside.chmod(0o755)
        beside.rename(target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def _extract(packed: IO[bytes], root: Path, admission: _Admission) -> None:
    import zstandard

    links: list[tarfile.TarInfo] = []
    try:
        metered = _Metered(zstandard.ZstdDecompressor(max_window_size=_WINDOW).stream_reader(packed))
        stream = cast("IO[bytes]", metered)
        with tarfile.open(fileobj=stream, mode="r|", encoding="utf-8", errors="strict") as archive:
            for member in _members(archive, metered):
                admission.admit(member)
                _place(archive, member, root, metered, links)
    except (tarfile.TarError, zstandard.ZstdError, ValueError, OverflowError, EOFError) as error:
        raise BundleError(f"bundle cannot be read as an archive: {error}; launch the job again") from error
    for link in links:
        (root / link.name).symlink_to(link.linkname)


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


class _Metered:
    """A stream that gives no more bytes than are allowed, so a small archive cannot expand into a large one."""

    def __init__(self, stream: _Readable) -> None:
        self.allowed = _HEADER_ROOM
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        data = self._stream.read(size)
        self.allowed -= len(data)
        if self.allowed < 0:
            raise BundleError("bundle has a header of more than 64 KiB; launch the job again")
        return data


def _members(archive: tarfile.TarFile, metered: _Metered) -> Iterator[tarfile.TarInfo]:
    while True:
        metered.allowed = _HEADER_ROOM
        member = archive.next()
        if member is None:
            return
        yield member


def _place(
    archive: tarfile.TarFile, member: tarfile.TarInfo, root: Path, metered: _Metered, links: list[tarfile.TarInfo]
) -> None:
    """Write a file or a folder. Add a link to `links`, to be made later."""
    path = root / member.name
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        links.append(member)
    elif member.isdir():
        path.mkdir(exist_ok=True)
    else:
        metered.allowed = _HEADER_ROOM + member.size
        content = archive.extractfile(member)
        assert content is not None  # None is only for members that are no files
        with content, path.open("xb") as file:
            shutil.copyfileobj(content, file, _CHUNK)
            os.fchmod(file.fileno(), 0o755 if member.mode & 0o100 else 0o644)


class _Admission:
    """The check of each member against the rules and against the members before it. It does no I/O."""

    def __init__(self, limit_bytes: int, limit_files: int) -> None:
        self._limit_bytes = limit_bytes
        self._limit_files = limit_files
        self._bytes = 0
        self._folders: set[str] = set()
        self._leaves: set[str] = set()

    def admit(self, member: tarfile.TarInfo) -> None:
        """Raise `BundleError` for a member that must not be written."""
        if fault := name_fault(member.name) or _kind_fault(member) or self._place_fault(member):
            raise BundleError(f"bundle has a member {member.name!a} that {fault}; nothing was unpacked")
        self._bytes += member.size
        if self._bytes > self._limit_bytes:
            raise BundleError(f"bundle holds more than {self._limit_bytes} bytes; nothing was unpacked")
        if len(self._folders) + len(self._leaves) > self._limit_files:
            raise BundleError(f"bundle holds more than {self._limit_files} files and folders; nothing was unpacked")

    def _place_fault(self, member: tarfile.TarInfo) -> str | None:
        parts = member.name.split("/")
        above = {"/".join(parts[:end]) for end in range(1, len(parts))}
        if above & self._leaves:
            return "lies below a file or link"
        if member.name in self._leaves or member.name in self._folders:
            return "is there twice"
        self._folders |= above
        (self._folders if member.isdir() else self._leaves).add(member.name)
        return None


def _kind_fault(member: tarfile.TarInfo) -> str | None:
    if member.size < 0:
        return "has a negative size"
    if member.issym():
        fault = link_fault(member.name, member.linkname)
        return fault and f"is a link to {member.linkname!a}, which {fault}"
    if member.isdir():
        return None
    if member.type not in {tarfile.REGTYPE, tarfile.AREGTYPE} or member.sparse:
        return "is neither file, folder nor symbolic link"
    return None
