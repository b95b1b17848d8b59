"""Retire jobs that ended long ago.

First their tombstones are written, then their orders and their claims are removed, and last they leave the state. The
order matters. A machine that comes months late finds no order to run. After a crash on the way, the job is still in the
state and is retired again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..model import layout
from ..model.interfaces import AttemptKey, Bucket, Map
from ..model.state.state import Job, State
from . import tombstones
from .recover import one_by_one

KEEP = timedelta(days=30)
"""An ended job stays in the state for this long."""
KEEP_AT_LEAST = timedelta(hours=24)
"""An ended job stays in the state for at least this long, no matter how many there are."""
KEEP_MAX = 100_000
"""If more ended jobs than this are in the state, the oldest leave before `KEEP` has passed."""


@dataclass(frozen=True, slots=True)
class RetiredJobs:
    """The jobs that leave the state, and the objects that leave the bucket with them.

    jobs: the jobs.
    papers: the keys of their orders, peers and stop orders. These are removed first.
    claims: the keys of their claims, heartbeats and facts.
    """

    jobs: tuple[Job, ...]
    papers: tuple[str, ...]
    claims: tuple[str, ...]


def retirable(state: State, now: datetime) -> RetiredJobs:
    """Return the jobs that may leave: those that ended more than 30 days ago.

    If more than 100,000 ended jobs are in the state, the oldest of them leave too, once they ended more than a day ago.
    """
    ended = sorted((job.ended, job.id) for job in state.jobs.values() if job.ended)
    surplus = len(ended) - KEEP_MAX
    leave = [
        state.jobs[job]
        for i, (at, job) in enumerate(ended)
        if now - at > KEEP or (i < surplus and now - at > KEEP_AT_LEAST)
    ]
    return RetiredJobs(
        jobs=tuple(leave),
        papers=tuple(key for job in leave for key in _papers(job)),
        claims=tuple(key for job in leave for key in _claims(job)),
    )


def remove(bucket: Bucket, retired: RetiredJobs, at_once: Map = one_by_one) -> tuple[str, ...]:
    """Write the tombstones, then remove the objects. Return the ids that may now be forgotten. Raises `BucketError`."""
    for outcome in at_once(lambda job: tombstones.leave(bucket, job), retired.jobs):
        if isinstance(outcome, Exception):
            raise outcome
    for keys in (retired.papers, retired.claims):
        bucket.delete(keys)
    return tuple(job.id for job in retired.jobs)


def _papers(job: Job) -> Iterator[str]:
    for key, _ in _attempts(job):
        yield from (layout.order(key), layout.peers(key), layout.stop(key))


def _claims(job: Job) -> Iterator[str]:
    for key, workers in _attempts(job):
        for worker in range(workers):
            yield from (layout.claim(key, worker), layout.beat(key, worker), layout.facts(key, worker))


def _attempts(job: Job) -> Iterator[tuple[AttemptKey, int]]:
    for number, task in job.tasks.items():
        for attempt in task.attempts:
            yield AttemptKey(job.id, number, attempt.number), len(attempt.workers)
