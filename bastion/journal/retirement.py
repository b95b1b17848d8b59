"""Jobs that ended long ago leave: a trace of them is written, then go their orders, their claims, and only then the state.

In that order, so that a machine that comes months late finds no order to run, and a crash on the way leaves a job that
is retired again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ..model import layout
from ..model.at_once import Map, one_by_one
from ..model.interfaces import AttemptKey, Bucket
from ..model.state.state import Job, State
from . import tombstones

KEEP = timedelta(days=30)
KEEP_AT_LEAST = timedelta(hours=24)
KEEP_MAX = 100_000


@dataclass(frozen=True, slots=True)
class Retired:
    """Jobs that leave, and what leaves the bucket with them."""

    jobs: tuple[Job, ...]
    papers: tuple[str, ...]
    claims: tuple[str, ...]


def retirable(state: State, now: datetime) -> Retired:
    """The jobs that ended more than 30 days ago; more than a day ago, oldest first, if over 100,000 ended ones are kept."""
    ended = sorted((job.ended, job.id) for job in state.jobs.values() if job.ended)
    surplus = len(ended) - KEEP_MAX
    leave = [
        state.jobs[job]
        for i, (at, job) in enumerate(ended)
        if now - at > KEEP or (i < surplus and now - at > KEEP_AT_LEAST)
    ]
    return Retired(
        jobs=tuple(leave),
        papers=tuple(key for job in leave for key in _papers(job)),
        claims=tuple(key for job in leave for key in _claims(job)),
    )


def remove(bucket: Bucket, retired: Retired, at_once: Map = one_by_one) -> tuple[str, ...]:
    """Leave traces, then remove the objects. The ids that may now be forgotten. Raises `BucketError`."""
    for outcome in at_once(lambda job: tombstones.leave(bucket, job), retired.jobs):
        if isinstance(outcome, Exception):
            raise outcome
    for keys in (retired.papers, retired.claims):
        bucket.delete(keys)
    return tuple(job.id for job in retired.jobs)


def _papers(job: Job) -> Iterator[str]:
    for key, _ in _attempts(job):
        yield from (layout.order(key), layout.world(key), layout.stop(key))


def _claims(job: Job) -> Iterator[str]:
    for key, workers in _attempts(job):
        for worker in range(workers):
            yield from (layout.claim(key, worker), layout.beat(key, worker), layout.facts(key, worker))


def _attempts(job: Job) -> Iterator[tuple[AttemptKey, int]]:
    for number, task in job.tasks.items():
        for attempt in task.attempts:
            yield AttemptKey(job.id, number, attempt.number), len(attempt.workers)
