"""Where doors get what is behind them: the one place that names concrete buckets."""

from __future__ import annotations

import os

from bastion.buckets.gcs import GcsBucket
from bastion.buckets.local import LocalBucket
from bastion.buckets.memory import MemoryBucket
from bastion.buckets.prefixed import Prefixed
from bastion.errors import UsageError
from bastion.ports import Bucket


def open_bucket(url: str, *, create: bool = False) -> Bucket:
    """The bucket of this URL: `file:///folder` (or just a path), `gs://bucket/prefix` or `memory://name`.

    `create` makes the folder of a `file://` bucket; cloud buckets are made by their admins.
    Raises `UsageError`, `NoBucket`, `Denied`.
    """
    scheme, separator, _ = url.partition("://")
    if not separator and url:
        return LocalBucket("file://" + os.path.abspath(url), create=create)
    if scheme == "file":
        return LocalBucket(url, create=create)
    if scheme == "gs":
        return GcsBucket(url)
    if scheme == "memory":
        return MemoryBucket(url)
    raise UsageError(f"bucket is {url!r}; use file:///folder, gs://bucket/prefix or memory://name")


def open_part(url: str) -> Bucket:
    """A bastion's part of a bucket, by its own URL. Opened at the bucket's root, as everybody does: one lock for all."""
    root, _, name = url.rpartition("/")
    return Prefixed(open_bucket(root), name)
