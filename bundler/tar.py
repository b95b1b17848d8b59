"""Packing a tree into a compressed tar that is named by its content: equal trees give equal bytes, uploaded once."""

from __future__ import annotations

import gzip
import hashlib
import os
import tarfile
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from bastion.model import layout
from bastion.model.errors import BundleError
from bastion.model.interfaces import Bucket, Clock

from .content_upload import upload
from .file_selection import FileEntry, FileKind, check_size, check_source
from .file_walk import walk
from .interface import LIMIT_BYTES, LIMIT_FILES, Bundle

_LEVEL = 3
_GZIP_LEVEL = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class TarBundler:
    """The bundler that packs all files of a folder that are not ignored.

    home: the home folder. Neither it nor a folder above it is ever packed.
    clock: tells the age of stored bundles.
    leave_out: folders that are not packed: where a bucket of kind `file://` lies.
    limit_bytes: the most bytes of all files together, uncompressed.
    limit_files: the most files and folders.
    retention_s: seconds after which the store removes bundles; None: never. See `upload`.
    form: `tar.zst`, which workers unpack, or `tar.gz`.
    """

    home: Path
    clock: Clock
    leave_out: Sequence[Path] = ()
    limit_bytes: int = LIMIT_BYTES
    limit_files: int = LIMIT_FILES
    retention_s: float | None = None
    form: str = "tar.zst"

    def bundle(self, source: Path, bucket: Bucket) -> Bundle:
        """Pack `source`. Costs one list request, and an upload if the bucket does not have these bytes.

        Raises `BundleError` for a source that must not or cannot be packed, `BucketError`.
        """
        try:
            source = source.resolve(strict=True)
            entries = self._choose(source)
            with tempfile.TemporaryFile() as packed:
                digest = pack(source, entries, packed, self.form)
                key = layout.bundle(digest, self.form)
                upload(bucket, self.clock, key, lambda: _whole(packed), retention_s=self.retention_s)
                return Bundle("tar", key, digest, packed.seek(0, os.SEEK_END), len(entries))
        except OSError as error:
            raise BundleError(f"cannot pack '{source}': {error}") from error

    def _choose(self, source: Path) -> list[FileEntry]:
        leave_out = [path.resolve() for path in self.leave_out]
        check_source(source, self.home.resolve(), leave_out)
        entries = walk(source, leave_out=leave_out, limit_files=self.limit_files)
        check_size(source, entries, self.limit_bytes)
        return entries


def _whole(packed: IO[bytes]) -> bytes:
    packed.seek(0)
    return packed.read()


def pack(source: Path, entries: Iterable[FileEntry], out: IO[bytes], form: str = "tar.zst") -> str:
    """Write the archive of `entries`, in their order, to `out`. Return the SHA-256 of what was written, in hexadecimal.

    Only paths, content, links and the owner's right to execute go in, so equal trees give equal bytes.
    Raises `BundleError` for a file that changed since it was listed.
    """
    hashing = _Hashing(out)
    with (
        _compressed(cast("IO[bytes]", hashing), form) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.PAX_FORMAT, encoding="utf-8") as archive,
    ):
        for entry in entries:
            _add(archive, source, entry)
    return hashing.sha.hexdigest()


def _compressed(out: IO[bytes], form: str) -> Any:
    """Return a stream that compresses to `out`. The same content gives the same bytes."""
    if form == "tar.gz":
        return gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=_GZIP_LEVEL)
    import zstandard

    return zstandard.ZstdCompressor(level=_LEVEL).stream_writer(out, closefd=False)


class _Hashing:
    """A stream that passes on what is written, and hashes it."""

    def __init__(self, out: IO[bytes]) -> None:
        self.sha = hashlib.sha256()
        self._out = out

    def write(self, data: bytes) -> int:
        self.sha.update(data)
        return self._out.write(data)


def _add(archive: tarfile.TarFile, source: Path, entry: FileEntry) -> None:
    if entry.kind is FileKind.FILE:
        _add_file(archive, source, entry)
    else:
        archive.addfile(_header(entry))


def _header(entry: FileEntry) -> tarfile.TarInfo:
    header = tarfile.TarInfo(entry.path)  # time, owner and group are 0 and empty by default
    header.type = {FileKind.FILE: tarfile.REGTYPE, FileKind.LINK: tarfile.SYMTYPE, FileKind.FOLDER: tarfile.DIRTYPE}[
        entry.kind
    ]
    header.mode = 0o755 if entry.executable or entry.kind is not FileKind.FILE else 0o644
    header.size = entry.size
    header.linkname = entry.target
    return header


def _add_file(archive: tarfile.TarFile, source: Path, entry: FileEntry) -> None:
    """Add a file. Raises `BundleError` if its size differs from the listing or it was written to while it was read."""
    # Since the listing, the file may have become a link or a fifo: follow no link, and wait for no writer.
    descriptor = os.open(source / entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(descriptor, "rb") as file:
        before = os.fstat(descriptor)
        try:
            archive.addfile(_header(entry), file)
        except OSError as error:
            if error.errno is not None:  # an error of the disk; tarfile's own, for too few bytes, has no number
                raise
            raise _changed(entry) from error
        after = os.fstat(descriptor)
    if (after.st_size, after.st_mtime_ns) != (entry.size, before.st_mtime_ns):
        raise _changed(entry)


def _changed(entry: FileEntry) -> BundleError:
    return BundleError(f"'{entry.path}' changed while it was packed; try again, or name it in .bastionignore")
