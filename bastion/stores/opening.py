"""Open the bucket of a URL: the only file that names concrete buckets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ..model.errors import UsageError
from ..model.interfaces import Bucket
from ..model.nearest import did_you_mean
from .fsspec import FsspecBucket
from .gcs import GcsBucket
from .lifecycle_rules import Ruled
from .local import LocalBucket
from .memory import MemoryBucket
from .prefixed import Prefixed
from .routed import Routed
from .s3 import S3Bucket

_OWN: Mapping[str, Callable[[str], Bucket]] = {"gs": GcsBucket, "s3": S3Bucket, "memory": MemoryBucket}
_NAMESAKES = {"gcs": "gs", "s3a": "s3", "local": "file"}
_USE = "use file:///folder, gs://bucket/prefix, s3://bucket/prefix, or another that fsspec knows"


def open_bucket(url: str, *, create: bool = False, logs_of: int | None = None) -> Bucket:
    """Open the bucket of a URL: `file:///folder` (or a path), `gs://…`, `s3://…`, `memory://name`, or one of fsspec.

    `create` makes the folder of a `file://` bucket; cloud buckets are made by their admins. `logs_of` is the account
    that alone may read the logs that are written through this bucket, in a folder that several accounts share. Raises
    `UsageError`, `NoBucket`, `Denied`.
    """
    scheme, separator, _ = url.partition("://")
    if not separator and url:
        return LocalBucket("file://" + os.path.abspath(url), create=create)
    if scheme == "file":
        return LocalBucket(url, create=create, logs_of=logs_of)
    if scheme in _OWN:
        return _OWN[scheme](url)
    check_scheme(url, "bucket")
    return FsspecBucket(url)


def open_ruled(scheme: str, name: str) -> Ruled:
    """Open the whole bucket of this name in a store that has lifecycle rules. Raises `UsageError`, `Denied`."""
    url = f"{scheme}://{name}"
    return GcsBucket(url) if scheme == "gs" else S3Bucket(url)


def open_google(name: str) -> GcsBucket:
    """Open the whole bucket of this name in Google's store, which can list rights. Raises `UsageError`, `Denied`."""
    return GcsBucket(f"gs://{name}")


def check_scheme(url: str, what: str) -> None:
    """Raise `UsageError` unless the URL's scheme is ours or fsspec's. `what` names the URL in the message."""
    scheme = url.partition("://")[0]
    if scheme in ("file", *_OWN):
        return
    from fsspec.registry import known_implementations, registry

    known = sorted({"file", *_OWN, *known_implementations, *registry} - set(_NAMESAKES))
    if scheme in _NAMESAKES or scheme not in known:
        other = _NAMESAKES.get(scheme)
        use = f"use {other}://" if other else did_you_mean(scheme, known, _USE)
        raise UsageError(f"{what} is {url[:200]!r}, and {scheme}:// is no kind of store here; {use}")


def open_part(url: str, *, logs_of: int | None = None) -> Bucket:
    """Open a bastion's part of a bucket, by the part's URL.

    The bucket itself is opened at its root, as everywhere: so all use one lock.
    """
    root, _, name = url.rpartition("/")
    return Prefixed(open_bucket(root, logs_of=logs_of), name)


def housed(part: Bucket, urls: Mapping[str, str]) -> Bucket:
    """Join a bastion's part of its private bucket with its parts of other buckets, which are given by URL."""
    return Routed(part, urls, open_part) if urls else part
