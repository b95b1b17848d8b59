"""What the workers of live attempts said last: their facts and beats, read from the bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bastion import layout
from bastion.codec import decode
from bastion.errors import Missing, RecordError
from bastion.ports import AttemptKey, Bucket, Tasks
from bastion.records import Facts

ATTEMPTS_MAX = 4
WORKERS_MAX = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pulse:
    """Of one attempt: when the store took its oldest last beat, and the furthest of its first workers."""

    beat: datetime | None = None
    phase: str = ""
    step: int | None = None
    checkpoint_at: datetime | None = None


def pulses(bucket: Bucket, tasks: Tasks, attempts: Sequence[tuple[AttemptKey, int]]) -> list[Pulse]:
    """Of each of these attempts, with the number of its workers: a list and at most four reads each. Raises `BucketError`."""
    found = tasks.map(lambda one: _pulse(bucket, *one), attempts)
    for pulse in found:
        if isinstance(pulse, Exception):
            raise pulse
    return found


def _pulse(bucket: Bucket, key: AttemptKey, workers: int) -> Pulse:
    beats = [stat.modified for stat in bucket.list(f"{layout.BEATS}{key}/")]
    facts = [found for worker in range(min(workers, WORKERS_MAX)) if (found := _facts(bucket, key, worker))]
    ahead = max(facts, key=lambda one: one.step or 0, default=None)
    return Pulse(
        beat=min(beats, default=None),
        phase=ahead.phase if ahead else "",
        step=ahead.step if ahead else None,
        checkpoint_at=ahead.checkpoint_at if ahead else None,
    )


def _facts(bucket: Bucket, key: AttemptKey, worker: int) -> Facts | None:
    where = layout.facts(key, worker)
    try:
        return decode(bucket.read(where).data, Facts, where)
    except (Missing, RecordError):
        return None
