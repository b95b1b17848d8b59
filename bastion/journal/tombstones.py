"""Store tombstones: what the bucket keeps for ever of a job that left the state.

A tombstone holds the job as it ended, with the numbers of its events.
"""

from __future__ import annotations

from ..model import layout
from ..model.codec import Record, decode, encode, numbered, readable
from ..model.errors import ObjectNotFound
from ..model.interfaces import Bucket, Map
from ..model.state.state import Job
from ..model.version import TRACE
from ..stores.create_once import create_once

NEWEST_OF = 64
"""The newest job of a name is looked for among this many tombstones, those that were stored last."""


class Tombstone(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tombstone of a job that left the state, stored as `ended/…`. Create-only.

    schema: the number of the format.
    job: the job as it ended.
    """

    schema: int = numbered(TRACE)
    job: Job


readable(Tombstone)


def leave(bucket: Bucket, job: Job) -> None:
    """Write the tombstone of a job. Raises `BucketError`.

    If one is there already, it stays: after a crash, a job can leave twice.
    """
    create_once(bucket, layout.ended(job.id), encode(Tombstone(job=job)))


def of(bucket: Bucket, job: str) -> Job | None:
    """Return the job with this id, if it has left the state; else None. One read.

    Raises `BucketError`, `RecordError`.
    """
    return _read(bucket, layout.ended(job))


def find(bucket: Bucket, word: str, at_once: Map) -> Job | None:
    """Return the job with this id, or else the newest of this name, among those that left the state.

    It costs one read, or a list request and a few reads. Raises `BucketError`, and `RecordError` for a tombstone that
    cannot be read.
    """
    if "-" in word and (job := of(bucket, word)):
        return job
    traces = sorted(bucket.list(layout.ended_of(word)), key=lambda stat: (stat.modified, stat.key))[-NEWEST_OF:]
    found = at_once(lambda stat: _read(bucket, stat.key), traces)
    for job in found:
        if isinstance(job, Exception):
            raise job
    return max((job for job in found if job), key=lambda job: (job.seq, job.index), default=None)


def _read(bucket: Bucket, key: str) -> Job | None:
    try:
        return decode(bucket.read(key).data, Tombstone, key).job
    except ObjectNotFound:
        return None
