"""Bytes into the bucket under the name of their content: once, and again before the store's retention removes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bastion.model.errors import Denied
from bastion.model.interfaces import Bucket, Clock


def upload(
    bucket: Bucket, clock: Clock, key: str, content: Callable[[], bytes], *, retention_s: float | None = None
) -> None:
    """One list request, and an upload of `content()` if the bucket does not have the object.

    One that it has had for more than half of `retention_s` (seconds after which the store removes bundles; None:
    never) is uploaded again, so that it outlives its job. Raises `BucketError`.
    """
    stored = next(iter(bucket.list(key)), None)
    if stored is None:
        bucket.create(key, content())  # taken meanwhile: by the same bytes
    elif retention_s is not None and clock.wall() - stored.modified > timedelta(seconds=retention_s / 2):
        try:
            bucket.write(key, content())
        except Denied:
            # In a folder that several share it is another's. There only `bastion gc` removes bundles, and none that is needed.
            if not bucket.url.startswith("file://"):
                raise
