"""What the workers of live attempts said last: their facts and beats, read from the bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import BucketError, Missing, RecordError
from bastion.model.interfaces import AttemptKey, Bucket, Tasks
from bastion.model.state.state import Job
from bastion.model.stored.records import PAPER_BYTES_MAX, Facts

from .explanation import Pulse

WORKERS_MAX = 64
"""Of a larger gang or array the first ones are asked for: a read for each of its workers is too much for one look."""

ATTEMPTS_MAX = 4
"""Of so many attempts the beats are listed."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a worker said last."""

    key: AttemptKey
    worker: int
    facts: Facts


def facts_of(bucket: Bucket, tasks: Tasks, job: Job, task: int | None = None) -> list[WorkerReport]:
    """What the workers of a job's live attempts said, or of one task's: a read for each of at most `WORKERS_MAX`."""
    live = (
        (AttemptKey(job.id, number, state.live.number), worker)
        for number, state in sorted(job.tasks.items())
        if state.live is not None and task in (None, number)
        for worker in range(len(state.live.workers))
    )
    posts = list(islice(live, WORKERS_MAX))
    told = tasks.map(lambda post: _facts(bucket, *post), posts)
    return [WorkerReport(*post, facts) for post, facts in zip(posts, told, strict=True) if isinstance(facts, Facts)]


def pulses(
    bucket: Bucket, tasks: Tasks, attempts: Sequence[AttemptKey], facts: Sequence[WorkerReport]
) -> dict[AttemptKey, Pulse]:
    """How the first of these attempts fare: what their workers said, and a list each for their beats."""
    first = attempts[:ATTEMPTS_MAX]
    beats = tasks.map(lambda key: [stat.modified for stat in bucket.list(f"{layout.BEATS}{key}/")], first)
    found = {}
    for key, heard in zip(first, beats, strict=True):
        own = [said.facts for said in facts if said.key == key]
        ahead = max(own, key=lambda one: one.step or 0, default=None)
        found[key] = Pulse(
            beat=min(heard, default=None) if isinstance(heard, list) else None,
            phase=ahead.phase if ahead else "",
            step=ahead.step if ahead else None,
            checkpoint_at=ahead.checkpoint_at if ahead else None,
        )
    return found


def _facts(bucket: Bucket, key: AttemptKey, worker: int) -> Facts | None:
    """What a worker said last; None where it said nothing, or nothing that can be read."""
    name = layout.facts(key, worker)
    try:
        return decode(bucket.read(name, PAPER_BYTES_MAX).data, Facts, name)
    except (Missing, RecordError, BucketError):
        return None
