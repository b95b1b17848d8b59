"""The worker's report to the bastion: its facts, with the job's progress."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import Any

import msgspec

from bastion.model.codec import decode, encode
from bastion.model.errors import BucketError, ObjectNotFound, RecordError
from bastion.model.interfaces import Bucket, Clock
from bastion.model.stored.records import RECORD_BYTES_MAX, Facts

from .interfaces import WorkerMachine
from .progress import Progress

QUIET_AFTER, QUIET_TIMES = 30, 5
"""The factor on the pause between reports, after `QUIET_AFTER` reports without news."""


class OwnedObject:
    """An object with this one writer. A late write cannot undo a newer one, because versions are compared."""

    def __init__(self, bucket: Bucket, key: str) -> None:
        self._bucket = bucket
        self.key = key
        self._version: str | None = None
        self._data = b""

    def read(self) -> bytes:
        """Return what the object holds; empty if there is none. Raises `BucketError`."""
        try:
            return self._bucket.read(self.key, RECORD_BYTES_MAX).data
        except ObjectNotFound:
            return b""

    def put(self, data: bytes) -> None:
        """Make the object hold `data`. After a `BucketError` call again, with these bytes or newer ones."""
        if data != self._data:
            self._version = self._write(data)
            self._data = data

    def _write(self, data: bytes) -> str:
        if self._version is None:
            version = self._bucket.create(self.key, data)
        else:
            version = self._bucket.replace(self.key, data, self._version)
        if version is not None:
            return version
        try:
            stored = self._bucket.read(self.key)  # it may be an earlier write of ours whose answer was lost
        except ObjectNotFound as missing:
            self._version = None
            raise BucketError(f"{self.key} was removed; it is written again") from missing
        if stored.data == data:
            return stored.version
        version = self._bucket.replace(self.key, data, stored.version)
        if version is None:
            raise BucketError(f"{self.key} changed while it was written; it is written again")
        return version


class FactsWriter:
    """The facts of the worker. `report` is a task; all else belongs to the worker's loop."""

    def __init__(
        self,
        bucket: Bucket,
        key: str,
        machine: WorkerMachine,
        clock: Clock,
        facts: Facts,
        now: Callable[[], datetime | None] = lambda: None,
    ) -> None:
        """Keep the inputs. `now` returns the store's time, or None while it is unknown."""
        self._now = now
        self.facts = facts
        self._slot = OwnedObject(bucket, key)
        self._machine = machine
        self._clock = clock
        self._progress = Progress()
        self._told: Facts | None = None
        self._nothing_new = 0

    @property
    def told(self) -> bool:
        """Return True if the bucket holds the current facts."""
        return self._told is self.facts

    def resume(self) -> None:
        """Continue with the facts that an earlier writer stored, if they can be read. Raises `BucketError`."""
        with suppress(RecordError):
            if told := self._slot.read():
                self.facts = decode(told, Facts, self._slot.key)

    def change(self, **fields: Any) -> None:
        """Change some facts; the next report stores them."""
        self.facts = msgspec.structs.replace(self.facts, **fields)

    def period(self, report_s: float) -> float:
        """Return the seconds between reports. `report_s` is the value for a job whose facts change."""
        return report_s * (QUIET_TIMES if self._nothing_new >= QUIET_AFTER else 1)

    def report(self) -> None:
        """Read the progress file, and write the facts if they differ from the stored ones."""
        facts, before = self.facts, self._progress
        self._progress = self._progress.after(self._machine.read_progress(), self._now() or self._clock.wall())
        step, checkpoint_at = self._progress.step, self._progress.checkpoint_at
        self._slot.put(encode(msgspec.structs.replace(facts, step=step, checkpoint_at=checkpoint_at)))
        self._nothing_new = 0 if self._told is not facts or self._progress != before else self._nothing_new + 1
        self._told = facts
