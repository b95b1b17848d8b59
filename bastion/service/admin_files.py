"""Read the admin's two files again and again. The last good version of each stays in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bastion.quota.quota import QuotaError
from bastion.quota.quota_file import parse as parse_quota

from ..model import layout
from ..model.errors import NewerVersion, ObjectNotFound, RecordError, TooLarge
from ..model.interfaces import Bucket, Clock
from ..model.settings import config
from ..model.state.admin_file_status import AdminFileStatus
from ..model.state.state import State
from ..model.stored.events import FileBroken, FileChanged
from .task_results import AdminFilesRead, FileRead

KEYS = {"quota": layout.QUOTA, "config": layout.CONFIG}
PARSERS: dict[str, Callable[[str], Any]] = {"quota": parse_quota, "config": config.parse}
FILE_BYTES_MAX = 1024 * 1024


def read(bucket: Bucket, clock: Clock) -> AdminFilesRead:
    """Read both files. Raises `BucketError`."""
    return AdminFilesRead(clock.monotonic(), tuple(_read(bucket, file) for file in KEYS))


def _read(bucket: Bucket, file: str) -> FileRead:
    try:
        found = bucket.read(KEYS[file], FILE_BYTES_MAX)
    except ObjectNotFound:
        return FileRead(file, "", None)
    except TooLarge as error:
        return FileRead(file, "too large", None, str(error))
    return FileRead(file, found.version, found.data)


def _deleted(file: str, known: AdminFileStatus) -> FileChanged | FileBroken:
    if not known.text:
        # There never was a good version: the file counts as one that never existed.
        return FileChanged(file=file, version="", text="")
    return FileBroken(file=file, version="", problem=f"{KEYS[file]} was deleted; the last good one stays in force")


def note(
    state: State, seen: FileRead, vet: Callable[[config.Config], Iterable[str]]
) -> Iterator[FileChanged | FileBroken]:
    """Return the event that a reading causes; none if nothing changed. `vet` lists what is wrong with settings here."""
    known = state.files.get(seen.file)
    if known is not None and known.version == seen.version:
        return
    if seen.problem:
        yield FileBroken(file=seen.file, version=seen.version, problem=seen.problem)
        return
    if seen.data is None:
        if known is not None:
            yield _deleted(seen.file, known)
        return
    try:
        text = seen.data.decode()
        found = PARSERS[seen.file](text)
        if isinstance(found, config.Config) and (wrong := list(vet(found))):
            raise RecordError(f"config.toml: {'; '.join(wrong)}")
    except UnicodeDecodeError as error:
        yield FileBroken(file=seen.file, version=seen.version, problem=f"it is not UTF-8: {error}")
    except (QuotaError, RecordError, NewerVersion) as error:
        yield FileBroken(file=seen.file, version=seen.version, problem=str(error)[:4096])
    else:
        yield FileChanged(file=seen.file, version=seen.version, text=text)
