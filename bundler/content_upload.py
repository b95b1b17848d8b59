"""The upload of bytes that are named by their content: once, and again before the store's retention removes them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from bastion.model.errors import AccessDenied
from bastion.model.interfaces import Bucket, Clock


def upload(
    bucket: Bucket, clock: Clock, key: str, content: Callable[[], bytes], *, retention_s: float | None = None
) -> None:
    """Upload `content()` if the bucket does not have the object. Costs one list request, and the upload.

    `retention_s` is the number of seconds after which the store removes bundles (None: never). An object that is older
    than half of it is uploaded again, so that it outlives its job. Raises `BucketError`.
    """
    stored = next(iter(bucket.list(key)), None)
    if stored is None:
        bucket.create(key, content())  # if another client was faster, it uploaded the same bytes
    elif retention_s is not None and clock.wall() - stored.modified > timedelta(seconds=retention_s / 2):
        try:
            bucket.write(key, content())
        except AccessDenied:
            # In a folder that several users share, the file may be another user's. Only `bastion gc` removes bundles
            # there, and it keeps all that are needed, so there is no need to write it again.
            if not bucket.url.startswith("file://"):
                raise
