"""Open the bucket of a URL: the only file that chooses a concrete bucket. Only the store of the URL is loaded."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from ..model.errors import UsageError
from ..model.interfaces import Bucket, ExpiringStore, Stat, StoredObject
from ..model.nearest import did_you_mean

_OWN = ("file", "gs", "memory", "s3")
_NAMESAKES = {"gcs": "gs", "s3a": "s3", "local": "file"}
_USE = "use file:///folder, gs://bucket/prefix, s3://bucket/prefix, or another that fsspec knows"


def open_bucket(url: str, *, create: bool = False, logs_of: int | None = None) -> Bucket:
    """Open the bucket of a URL: `file:///folder` (or a path), `gs://…`, `s3://…`, `memory://name`, or one of fsspec.

    `create` makes the folder of a `file://` bucket; cloud buckets are made by their admins. `logs_of` is the account
    that alone may read the logs that are written through this bucket, in a folder that several accounts share. Raises
    `UsageError`, `BucketNotFound`, `AccessDenied`.
    """
    scheme, separator, _ = url.partition("://")
    if not separator and url:
        scheme, url = "file", "file://" + os.path.abspath(url)
    if scheme != "file":
        return _elsewhere(scheme, url)
    from .local import LocalBucket

    return LocalBucket(url, create=create, logs_of=logs_of)


def _elsewhere(scheme: str, url: str) -> Bucket:
    """Open a bucket that is no folder."""
    match scheme:
        case "gs":
            from .gcs import GcsBucket

            return GcsBucket(url)
        case "s3":
            from .s3 import S3Bucket

            return S3Bucket(url)
        case "memory":
            from .memory import MemoryBucket

            return MemoryBucket(url)
    check_scheme(url, "bucket")
    from .fsspec import FsspecBucket

    return FsspecBucket(url)


def open_ruled(scheme: str, name: str) -> ExpiringStore:
    """Open the whole bucket of this name in a store that has lifecycle rules. Raises `UsageError`, `AccessDenied`."""
    url = f"{scheme}://{name}"
    if scheme == "gs":
        from .gcs import GcsBucket

        return GcsBucket(url)
    from .s3 import S3Bucket

    return S3Bucket(url)


def check_scheme(url: str, what: str) -> None:
    """Raise `UsageError` unless the URL's scheme is ours or fsspec's. `what` names the URL in the message."""
    scheme = url.partition("://")[0]
    if scheme in _OWN:
        return
    from fsspec.registry import known_implementations, registry

    known = sorted({*_OWN, *known_implementations, *registry} - set(_NAMESAKES))
    if scheme in _NAMESAKES or scheme not in known:
        other = _NAMESAKES.get(scheme)
        use = f"use {other}://" if other else did_you_mean(scheme, known, _USE)
        raise UsageError(f"{what} is {url[:200]!r}, and {scheme}:// is not a known kind of store; {use}")


def open_part(url: str, *, logs_of: int | None = None) -> Bucket:
    """Open a bastion's part of a bucket, by the part's URL.

    The bucket itself is opened at its root, as everywhere: so all use one lock.
    """
    root, _, name = url.rpartition("/")
    return PrefixedBucket(open_bucket(root, logs_of=logs_of), name)


def housed(part: Bucket, urls: Mapping[str, str]) -> Bucket:
    """Join a bastion's part of its private bucket with its parts of other buckets, which are given by URL."""
    if not urls:
        return part
    from .routed import RoutedBucket

    return RoutedBucket(part, urls, open_part)


class PrefixedBucket:
    """A part of a bucket as a bucket: the objects of `inner` below `prefix/`, with keys that leave out the prefix."""

    def __init__(self, inner: Bucket, prefix: str) -> None:
        self._inner = inner
        self._prefix = f"{prefix}/"
        self.url = f"{inner.url.rstrip('/')}/{prefix}"

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        """Return the whole object."""
        return self._inner.read(self._prefix + key, limit)

    def create(self, key: str, data: bytes) -> str | None:
        """Write an object that must not exist yet."""
        return self._inner.create(self._prefix + key, data)

    def replace(self, key: str, data: bytes, version: str) -> str | None:
        """Write if the object still has this version."""
        return self._inner.replace(self._prefix + key, data, version)

    def write(self, key: str, data: bytes) -> str:
        """Write, whatever is there."""
        return self._inner.write(self._prefix + key, data)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects."""
        self._inner.delete([self._prefix + key for key in keys])

    def list(self, prefix: str, *, after: str = "") -> Iterator[Stat]:
        """List objects below the prefix, with keys that leave it out."""
        beyond = self._prefix + after if after else ""
        for stat in self._inner.list(self._prefix + prefix, after=beyond):
            yield Stat(stat.key.removeprefix(self._prefix), stat.version, stat.size, stat.modified)
