"""The pace of uploads: fast while the process is young or a reader follows the log, slow otherwise."""

from __future__ import annotations

import math

from bastion.model import layout
from bastion.model.errors import ObjectNotFound, TooLarge
from bastion.model.interfaces import AttemptKey, Bucket, Clock
from bastion.model.stored.records import RECORD_BYTES_MAX

from .interfaces import WorkerPace
from .spool import Spool


class UploadPace:
    """The check whether a reader follows this task, done only if the answer changes something."""

    def __init__(self, bucket: Bucket, key: AttemptKey, clock: Clock, pace: WorkerPace, spool: Spool) -> None:
        self._bucket = bucket
        self._key = layout.watch(key.job, key.task)
        self._clock = clock
        self._pace = pace
        self._spool = spool
        self._fast_until = math.inf
        self._seen: str | None = None

    def started(self) -> None:
        """Note that the process starts now."""
        self._fast_until = self._clock.monotonic() + self._pace.young_s

    def flush_period(self) -> float:
        """Return the seconds between uploads."""
        fast = self._spool.closed or self._clock.monotonic() < self._fast_until
        return self._pace.flush_s if fast else self._pace.steady_flush_s

    def look(self) -> str | None:
        """Return the version of the follower's sign of life; None if there is none or it does not matter now.

        A task.
        """
        left = self._fast_until - self._clock.monotonic()
        if left > 2 * self._pace.watch_s or (left <= 0 and not self._spool.unsent):
            return None  # look a little before the fast time ends, so that a reader who still follows sees no pause
        if self._pace.steady_flush_s <= self._pace.flush_s:
            return None
        try:
            return self._bucket.read(self._key, RECORD_BYTES_MAX).version
        except (ObjectNotFound, TooLarge):
            return None

    def looked(self, version: str | None) -> bool:
        """Take in a look. Return True if a reader has begun or renewed to follow: upload now."""
        if version is None or version == self._seen:
            return False
        self._seen = version
        self._fast_until = self._clock.monotonic() + self._pace.watched_s
        return True
