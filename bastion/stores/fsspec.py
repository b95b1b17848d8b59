"""A bucket in any store that fsspec knows, if that store can be a bucket: `az://container/prefix` and others.

fsspec promises less than a bucket needs. Exclusive create is its `mode="create"`, which some of its file systems accept
but do not keep: `conformance` tests it before a bastion uses the store. fsspec has no call for a swap: `_SWAPS` has the
arguments for file systems that support one. Without a swap a store can hold bundles and logs, but no bastion. Each
write adds a salt of its own (`version_salt`), so that a writer that reads back can recognise its own write.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from inspect import signature
from typing import Any, TypeVar

from ..model.errors import AccessDenied, BastionError, BucketError, ObjectNotFound, UsageError
from ..model.interfaces import Stat, StoredObject
from . import version_salt
from .keys import check_key, check_prefix, check_size, is_key
from .retries import ask, is_passing

_VERSION = re.compile(r"[!#-)+-~]{1,128}")  # never `*`, which would mean: any
_LONGEST_PREFIX = 120
_VERSION_WORDS = ("etag", "ETag", "generation", "version_id", "uid")
_MODIFIED_WORDS = ("last_modified", "LastModified", "updated", "mtime", "created")
_GONE = "gone"  # the version of a write that was overwritten before it could be read: no object ever has it

T = TypeVar("T")
Info = Mapping[str, Any]


def _azure(version: str) -> dict[str, Any]:
    from azure.core import MatchConditions

    return {"overwrite": True, "etag": version, "match_condition": MatchConditions.IfNotModified}


_SWAPS: dict[str, Callable[[str], dict[str, Any]]] = {"abfs": _azure}
"""Extra arguments of `pipe_file` that make it overwrite only this version, by protocol of the file system."""


class FsspecBucket:
    """A folder of a file system of fsspec as a `Bucket`. Safe for threads. A read costs three requests, a write four.

    A listing is not lazy: fsspec has no pages. Transient failures are retried for `limit_s` seconds. Raises
    `UsageError` for a scheme that fsspec does not know, or whose package is not installed.
    """

    def __init__(self, url: str, *, limit_s: float = 60.0) -> None:
        self.url = url.rstrip("/")
        self._files, path = _open_files(url)
        self._root = path.rstrip("/") + "/"
        if len(self._root) < 2 or len(self._root.encode()) > _LONGEST_PREFIX:
            raise UsageError(f"bucket is {url!r}; name a place in it, of at most {_LONGEST_PREFIX} bytes")
        protocols = self._files.protocol
        known = (protocols,) if isinstance(protocols, str) else tuple(protocols)
        self._swap = next((_SWAPS[protocol] for protocol in known if protocol in _SWAPS), None)
        self._narrows = "prefix" in signature(getattr(self._files, "_find", self._files.find)).parameters
        self._limit_s = limit_s

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the whole object. Raises `ObjectNotFound`, `TooLarge`."""
        stored = self._raw(key, None if limit is None else limit + version_salt.LENGTH)
        data = version_salt.strip(stored.data)
        check_size(len(data), key, limit)
        return StoredObject(data, stored.version)

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet. Return its version; None if the key is taken, maybe by our try."""
        try:
            return self._put(key, data, mode="create")
        except _Refused:
            return None

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version. Return the new version; None if it has another or is gone.

        Raises `BucketError` if fsspec has no swap for this store.
        """
        check_key(key)
        if self._swap is None:
            raise BucketError(
                f"{self.url}: fsspec cannot replace one given version there; keep the bastion in another store"
            )
        if not _VERSION.fullmatch(version):
            return None
        try:
            return self._put(key, data, **self._swap(version))
        except (_Refused, ObjectNotFound):
            return None

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there. Return the new version."""
        return self._put(key, data)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects. Missing ones are no error."""
        to_delete = tuple(keys)
        for key in to_delete:
            check_key(key)
        for key in to_delete:
            with suppress(ObjectNotFound):
                self._ask("delete", key, lambda key=key: self._files.rm_file(self._root + key))  # type: ignore[misc]

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects whose key begins with `prefix` and is greater than `after`, in order of their UTF-8 keys."""
        check_prefix(prefix)
        return self._stats(prefix, after)

    def _stats(self, prefix: str, after: str) -> Iterator[Stat]:
        narrow = {"prefix": prefix} if self._narrows else {}
        try:
            found = self._ask("list", prefix, lambda: self._files.find(self._root, detail=True, **narrow))
        except ObjectNotFound:
            return
        for path in sorted(found):
            key = path.removeprefix(self._root)
            if path != key and key.startswith(prefix) and key > after and is_key(key):
                info = found[path]
                yield Stat(key, self._version(info), version_salt.size(int(info["size"])), _modified(info))

    def _raw(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the bytes as they are stored, and their version, which must be the same before and after reading."""
        check_key(key)

        def request() -> StoredObject:
            info = self._files.info(self._root + key)
            if info.get("type") == "directory":
                raise FileNotFoundError(key)
            before = self._version(info)
            check_size(int(info["size"]), key, limit)
            data = self._files.cat_file(self._root + key)
            if self._version(self._files.info(self._root + key)) != before:
                raise _Moved
            return StoredObject(data, before)

        return self._ask("read", key, request)

    def _put(self, key: str, data: bytes, **how: Any) -> str:
        """Write, and return the new version. Raises `_Refused` or `ObjectNotFound` if the object fails the condition."""
        check_key(key)
        body = version_salt.add(data, os.urandom(version_salt.NONCE_BYTES))
        self._ask("write", key, lambda: self._files.pipe_file(self._root + key, body, **how))
        try:
            stored = self._raw(key)
        except ObjectNotFound:
            return _GONE
        return stored.version if stored.data == body else _GONE

    def _version(self, info: Info) -> str:
        for word in _VERSION_WORDS:
            if info.get(word):
                return str(info[word]).strip('"')
        raise UsageError(f"{self.url}: fsspec shows no version of an object there; use another store")

    def _ask(self, verb: str, key: str, request: Callable[[], T]) -> T:
        """Make a request, and retry it while that may help."""
        try:
            return ask(request, _is_transient, self._limit_s)
        except BastionError:
            raise
        except Exception as error:
            raise _failure(error, f"{self.url}: cannot {verb} {key!r}") from error


class _Refused(BastionError):
    """The object does not meet the condition of a write."""


class _Moved(Exception):
    """The object was written while it was being read."""


def _open_files(url: str) -> tuple[Any, str]:
    """Return the file system of a URL, and the path in it. Raises `UsageError`."""
    from fsspec.core import url_to_fs

    try:
        files, path = url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
    except ImportError as error:
        raise UsageError(f"{url} needs a package: {error}") from error
    except (ValueError, TypeError, OSError) as error:
        raise UsageError(f"{url} cannot be opened: {' '.join(str(error).split())[:300]}") from error
    return files, path


def _modified(info: Info) -> datetime:
    for word in _MODIFIED_WORDS:
        said = info.get(word)
        if isinstance(said, datetime):
            return said if said.tzinfo else said.replace(tzinfo=UTC)
        if isinstance(said, (int, float)):
            return datetime.fromtimestamp(said, UTC)
    return datetime.fromtimestamp(0, UTC)


def _status(error: BaseException) -> int:
    """Return the HTTP status of a client's error; 0 if there is none."""
    said = getattr(error, "status_code", None) or getattr(error, "status", None) or getattr(error, "code", None)
    return said if isinstance(said, int) else 0


def _is_transient(error: BaseException) -> bool:
    """Return True if a retry may help."""
    if isinstance(error, (FileExistsError, FileNotFoundError, PermissionError)) or _status(error) == 412:
        return False
    refused = _status(error) == 409 and "exist" in str(error).lower()
    broken = isinstance(error, (_Moved, ConnectionError, TimeoutError))
    return not refused and (broken or is_passing(_status(error)))


def _failure(error: Exception, what: str) -> BastionError:
    text, status = " ".join(str(error).split())[:400] or type(error).__name__, _status(error)
    if isinstance(error, FileNotFoundError) or status == 404:
        return ObjectNotFound(f"{what}: there is no such object")
    if isinstance(error, FileExistsError) or status in (409, 412):
        return _Refused(f"{what}: the object is not as the condition requires")
    if isinstance(error, PermissionError) or status in (401, 403):
        return AccessDenied(f"{what}: {text}; ask the store's owner for this right")
    return BucketError(f"{what}: {text}; try again when the store answers")
