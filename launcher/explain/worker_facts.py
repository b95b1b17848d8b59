"""Read the last facts and beats of the workers of live attempts from the bucket."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.errors import BucketError, ObjectNotFound, RecordError
from bastion.model.interfaces import AttemptKey, Bucket, Tasks
from bastion.model.state.state import Job
from bastion.model.stored.records import RECORD_BYTES_MAX, Facts

from .explanation import WorkerReports

WORKERS_MAX = 64
"""Most workers that are read: the first ones. More reads would be too much for one look."""

ATTEMPTS_MAX = 4
"""Most attempts for which the beats are listed."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The last report of a worker.

    key: its attempt.
    worker: its number.
    facts: what it reported.
    """

    key: AttemptKey
    worker: int
    facts: Facts


def facts_of(bucket: Bucket, tasks: Tasks, job: Job, task: int | None = None) -> list[WorkerReport]:
    """Read the last facts of the live workers of a job, or of one task. Takes one read for each of them.

    Reads at most `WORKERS_MAX` workers.
    """
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
) -> dict[AttemptKey, WorkerReports]:
    """Return the last reports of the first `ATTEMPTS_MAX` of these attempts. Takes one list of beats each."""
    first = attempts[:ATTEMPTS_MAX]
    beats = tasks.map(lambda key: [stat.modified for stat in bucket.list(f"{layout.BEATS}{key}/")], first)
    found = {}
    for key, heard in zip(first, beats, strict=True):
        own = [said.facts for said in facts if said.key == key]
        ahead = max(own, key=lambda one: one.step or 0, default=None)
        found[key] = WorkerReports(
            beat=min(heard, default=None) if isinstance(heard, list) else None,
            phase=ahead.phase if ahead else "",
            step=ahead.step if ahead else None,
            checkpoint_at=ahead.checkpoint_at if ahead else None,
        )
    return found


def _facts(bucket: Bucket, key: AttemptKey, worker: int) -> Facts | None:
    """Read the last facts of a worker; None if there are none, or they cannot be read."""
    name = layout.facts(key, worker)
    try:
        return decode(bucket.read(name, RECORD_BYTES_MAX).data, Facts, name)
    except (ObjectNotFound, RecordError, BucketError):
        return None
