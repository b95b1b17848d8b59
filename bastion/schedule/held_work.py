"""For how long an attempt holds what it has, and how much of its work is safe: for decisions and for readers. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bastion.quota.demand import foreseen
from bastion.quota.quota import Quota

from ..model.state.state import Attempt, AttemptState, Cause, Job, State
from ..model.state.transitions import FAILURES
from .eligibility import Obstacle, gate

KEEP = timedelta(seconds=60)
"""The longest pause over which the room of a failed try is kept for the next one, and how much longer if that cannot begin."""

_LATE = timedelta(seconds=1)
"""By so much the pause is longer at most than it was set: it is counted from when the end was written."""


def until(job: Job, attempt: Attempt) -> datetime | None:
    """When an attempt ends at the latest; None if nothing bounds it."""
    if attempt.state is AttemptState.STOPPING:
        return attempt.deadline
    ends = [job.deadline + timedelta(seconds=job.grace_s)] if job.deadline else []
    if job.time_limit_s is not None:
        ends.append((attempt.running or attempt.started) + timedelta(seconds=job.time_limit_s))
    return min(ends, default=None)


def finish_by(job: Job, attempt: Attempt) -> datetime | None:
    """When what still runs of a gang is ended, because a worker of it has ended with 0; None if that is not so.

    The policy foresees no end by this: its decisions stay those that the journal holds.
    """
    if attempt.finishing is None or not job.finish_timeout_s or attempt.state is AttemptState.STOPPING:
        return None
    return attempt.finishing + timedelta(seconds=job.finish_timeout_s) if attempt.at_work else None


def kept(state: State, job: Job, quota: Quota, now: datetime) -> dict[int, datetime]:
    """The tasks whose last try failed and for whose next one what it held is kept, with the time of that one.

    Another task of the job that began since, if not for a next try of its own, has taken the place of one. Nothing is kept
    while something else keeps the job back, and no more than may run beside what runs.
    """
    rows = sorted(_kept(job, now)) if job.waiting else []
    if not rows or gate(state, job, quota, now).bar not in (Obstacle.NONE, Obstacle.RETRY, Obstacle.PARALLEL):
        return {}
    live = [job.tasks[number].attempts for number in state.live.get(job.id, ())]
    taken = sum(tries[-1].started >= rows[0][0] and not (tries[:-1] and tries[-2].cause in FAILURES) for tries in live)
    most = len(rows) if job.max_parallel is None else max(0, job.max_parallel - len(live))
    return {number: at for _, number, at in rows[taken:][:most]}


def _kept(job: Job, now: datetime) -> Iterator[tuple[datetime, int, datetime]]:
    for number in job.waiting:
        task = job.tasks[number]
        last = task.attempts[-1] if task.attempts else None
        # What was being stopped for others is theirs, however it ended.
        if last and last.cause in FAILURES and last.ended is not None and last.stopping is not Cause.PREEMPTED:
            at = task.ready_at or last.ended
            if at - last.ended <= KEEP + _LATE and now < at + KEEP:
                yield last.ended, number, at


def saved(attempt: Attempt, now: datetime) -> datetime | None:
    """When an attempt last wrote a checkpoint, as far as is known or foreseen; None: never.

    Workers tell it by clocks of their own: it is never before the attempt began, and never later than now.
    """
    if attempt.saved is None:
        return None
    return min(max(foreseen(attempt.saved, attempt.every_s, now), attempt.started), now)
