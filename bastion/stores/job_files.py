"""The files that a job left in its output folder: at any URL that fsspec knows, or a path."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from ..model.errors import AccessDenied, BastionError, BucketError, UsageError
from . import file_tree, untrusted

_MODIFIED = ("last_modified", "LastModified", "updated", "mtime", "created")
_AT_ONCE = 1_000
_CHUNK = 2**20
_EXTRAS = {"gs": "gcsfs", "gcs": "gcsfs", "s3": "s3", "s3a": "s3"}


@dataclass(frozen=True, slots=True)
class JobFile:
    """One file of an output folder.

    name: its path below the folder.
    size: its size in bytes.
    modified: when it was written; None: the store does not tell.
    """

    name: str
    size: int
    modified: datetime | None


class JobFiles:
    """An output folder, read with the same credentials as buckets.

    Raises `UsageError` if a package that it needs is missing.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._files, root = _open(self.url)
        self._root = root.rstrip("/")
        self._place: tuple[int, int] | None = None

    @property
    def _is_local(self) -> bool:
        return "://" not in self.url or self.url.startswith("file://")

    def files(self) -> list[JobFile]:
        """List all files, by name; none if there is no such folder. Raises `BucketError`."""
        if self._is_local:
            self._place = _place(self._root)
            if self._place is None:
                return []
        try:
            found: dict[str, Any] = self._files.find(self._root, detail=True)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise _failure(error, f"cannot list {self.url}") from error
        below = f"{self._root}/"
        return [
            JobFile(path.removeprefix(below), int(info.get("size") or 0), _modified(info))
            for path, info in sorted(found.items())
            if path.startswith(below)
            and not path.endswith("/")
            and info.get("type", "file") == "file"  # no pipe, no device
        ]

    def top(self) -> set[str]:
        """List the names of files and folders right below it; none if there is no such folder. Raises `BucketError`."""
        try:
            found = self._files.ls(self._root, detail=False)
        except FileNotFoundError:
            return set()
        except Exception as error:
            raise _failure(error, f"cannot list {self.url}") from error
        return {PurePosixPath(path).name for path in found if str(path).rstrip("/") != self._root}

    def fetch(self, file: JobFile, folder: Path) -> Path:
        """Copy a file into a folder, whole or not at all. Return its new path. Raises `BastionError`."""
        target = folder / _below(file.name)
        half = target.with_name(f".{target.name}.half")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if self._is_local:
                self._copy(file, half)
            else:
                self._files.get_file(f"{self._root}/{file.name}", str(half))
            os.replace(half, target)
        except Exception as error:
            raise _failure(error, f"cannot fetch {self.url}/{file.name} to {target}") from error
        finally:
            half.unlink(missing_ok=True)
        return target

    def put(self, name: str, data: bytes) -> None:
        """Store a file below the folder. Raises `BastionError`."""
        target = f"{self._root}/{_below(name)}"
        try:
            self._files.pipe_file(target, data)
        except Exception as error:
            raise _failure(error, f"cannot store {self.url}/{name}") from error

    def delete(self, files: Sequence[JobFile]) -> None:
        """Remove these files, many in one request where the store can do that. Raises `BastionError`."""
        if self._is_local:
            self._unlink(files)
            return
        for start in range(0, len(files), _AT_ONCE):
            batch = [f"{self._root}/{_below(file.name)}" for file in files[start : start + _AT_ONCE]]
            try:
                self._files.rm(batch)
            except FileNotFoundError:
                continue
            except Exception as error:
                raise _failure(error, f"cannot remove files of {self.url}") from error

    def _unlink(self, files: Sequence[JobFile]) -> None:
        for file in files:
            try:
                with suppress(FileNotFoundError), self._held(file) as path:
                    os.unlink(path)
            except OSError as error:
                raise _failure(error, f"cannot remove {self.url}/{file.name}") from error

    def _copy(self, file: JobFile, target: Path) -> None:
        with self._held(file) as path, open(untrusted.opened(path), "rb") as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy, _CHUNK)

    @contextmanager
    def _held(self, file: JobFile) -> Iterator[str]:
        """Return the path of a file by descriptors, which follow no link. Raises `OSError`.

        The folder belongs to a job: a link may have come into it, or into its place, since it was listed.
        """
        path = os.fsencode(f"{self._root}/{_below(file.name)}")
        with file_tree.held(path, os.fsencode(self._root), self._place) as (place, _):
            yield os.fsdecode(place)


def _place(folder: str) -> tuple[int, int] | None:
    """Return the identity of this folder on the disk; None if there is none. Raises `BastionError`."""
    try:
        found = os.stat(folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise _failure(error, f"cannot open {folder}") from error
    return found.st_dev, found.st_ino


def _below(name: str) -> PurePosixPath:
    """Return the name as a path that stays below its folder. Raises `BastionError` for one that would not."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.name:
        raise BastionError(f"{name[:100]!r} is not a valid name of a file below a folder; fetch it by hand")
    return path


def _open(url: str) -> tuple[Any, str]:
    scheme = url.partition("://")[0] if "://" in url else "file"
    if scheme in ("gs", "gcs"):  # gcsfs would ask for the kind of bucket over gRPC, and wait long without gRPC
        os.environ.setdefault("GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT", "false")
    from fsspec.core import url_to_fs

    options = {"use_listings_cache": False, "skip_instance_cache": True}
    try:
        files, path = url_to_fs(url, **({} if scheme == "file" else options))
    except ImportError as error:
        extra = _EXTRAS.get(scheme)
        how = f'run: pip install "bastion-scheduler[{extra}]"' if extra else str(error)
        raise UsageError(f"{url} needs a package; {how}") from error
    except (ValueError, TypeError) as error:
        raise UsageError(f"{url} cannot be opened: {_line(error)}") from error
    except Exception as error:
        raise _failure(error, f"cannot open {url}") from error
    return files, str(path)


def _modified(info: dict[str, Any]) -> datetime | None:
    """Return when it was written, in any of the forms that file systems use."""
    for said in filter(None, map(info.get, _MODIFIED)):
        if isinstance(said, str):
            said = datetime.fromisoformat(said)
        if isinstance(said, (int, float)):
            return datetime.fromtimestamp(said, UTC)
        if isinstance(said, datetime):
            return said if said.tzinfo else said.replace(tzinfo=UTC)
    return None


def _failure(error: Exception, what: str) -> BastionError:
    if isinstance(error, BastionError):
        return error
    if isinstance(error, PermissionError):
        return AccessDenied(f"{what}: {_line(error)}; ask for the right, or see bastion auth")
    return BucketError(f"{what}: {_line(error) or type(error).__name__}; try again when the store answers")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
