"""The specs of jobs that are about to start: new ones come from memory, others from the journal."""

from __future__ import annotations

import threading
from collections import OrderedDict

from ..journal.recover import command_of, proven
from ..model.codec import encode
from ..model.errors import ObjectNotFound, RecordError
from ..model.interfaces import Bucket
from ..model.job.spec import JobSpec
from ..model.job.spec_changes import revised
from ..model.stored.events import Submitted
from ..schedule.desired import Desired

KEPT = 4_096
KEPT_BYTES = 32 * 1024 * 1024


class SpecCache:
    """A small cache in front of the journal. It may be used from any thread."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._lock = threading.Lock()
        self._specs: OrderedDict[str, tuple[JobSpec, int]] = OrderedDict()
        self._bytes = 0

    def keep(self, job: str, spec: JobSpec) -> None:
        """Remember a spec. The oldest are dropped if there are too many, or if they are too large together."""
        size = len(encode(spec))
        with self._lock:
            self._bytes += size - self._specs.pop(job, (spec, 0))[1]
            self._specs[job] = spec, size
            while len(self._specs) > KEPT or self._bytes > KEPT_BYTES:
                self._bytes -= self._specs.popitem(last=False)[1][1]

    def revised(self, row: Desired) -> JobSpec:
        """Return the spec that an attempt runs, with the changes of updates. Raises `BucketError`, `RecordError`."""
        spec, command = self.of(row.key.job, row.seq, row.index), command_of(self._bucket, row.renewed)
        return revised(spec, command, row.changes, digest=row.digest)

    def of(self, job: str, seq: int, index: int) -> JobSpec:
        """Return the spec of a job from its place (seq, index) in the journal. Raises `BucketError`, `RecordError`."""
        with self._lock:
            known = self._specs.get(job)
        if known is not None:
            return known[0]
        try:
            events = proven(self._bucket, seq).events
        except ObjectNotFound as missing:
            raise RecordError(f"the spec of {job} cannot be found: {missing}") from missing
        if index >= len(events) or not isinstance(events[index], Submitted):
            raise RecordError(f"the spec of {job} is not event {index} of journal object {seq}")
        for event in events:  # neighbours are likely to start next
            if isinstance(event, Submitted):
                self.keep(event.job, event.spec)
        found = events[index]
        assert isinstance(found, Submitted)
        return found.spec
