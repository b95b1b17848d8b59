"""The files that a job left in its output folder: any URL that fsspec knows, or a path."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from bastion.errors import BastionError, BucketError, Denied, UsageError

_MODIFIED = ("last_modified", "LastModified", "updated", "mtime", "created")
_EXTRAS = {"gs": "gcsfs", "gcs": "gcsfs", "s3": "s3", "s3a": "s3"}


@dataclass(frozen=True, slots=True)
class File:
    """A file by its path below the folder."""

    name: str
    size: int
    modified: datetime | None


class Outputs:
    """An output folder, read with the same credentials as buckets. Raises `UsageError` without the package it takes."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._files, root = _open(self.url)
        self._root = root.rstrip("/")

    def files(self) -> list[File]:
        """All files, by name; none if there is no such folder. Raises `BucketError`."""
        try:
            found: dict[str, Any] = self._files.find(self._root, detail=True)
        except FileNotFoundError:
            return []
        except Exception as error:
            raise _failure(error, f"cannot list {self.url}") from error
        below = f"{self._root}/"
        return [
            File(path.removeprefix(below), int(info.get("size") or 0), _modified(info))
            for path, info in sorted(found.items())
            if path.startswith(below)
            and not path.endswith("/")
            and info.get("type", "file") == "file"  # no pipe, no device
        ]

    def fetch(self, file: File, folder: Path) -> Path:
        """Copy a file into a folder, whole or not at all. Where it is now. Raises `BastionError`."""
        target = folder / _below(file.name)
        half = target.with_name(f".{target.name}.half")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            self._files.get_file(f"{self._root}/{file.name}", str(half))
            os.replace(half, target)
        except Exception as error:
            raise _failure(error, f"cannot fetch {self.url}/{file.name} to {target}") from error
        finally:
            half.unlink(missing_ok=True)
        return target


def _below(name: str) -> PurePosixPath:
    """The name as a path that stays below its folder. Raises `BastionError` for one that would not."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.name:
        raise BastionError(f"{name[:100]!r} is no name of a file below a folder; fetch it by hand")
    return path


def _open(url: str) -> tuple[Any, str]:
    scheme = url.partition("://")[0] if "://" in url else "file"
    if scheme in ("gs", "gcs"):  # gcsfs would ask for the kind of bucket over gRPC, and wait long where there is none
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
    """When it was written, in whichever way the file system says it."""
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
        return Denied(f"{what}: {_line(error)}; ask for the right, or see bastion auth")
    return BucketError(f"{what}: {_line(error) or type(error).__name__}; try again when the store answers")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
