"""Compute how long an attempt keeps its resources, and how much of its work is safe. Pure.

Decisions and readers both use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bastion.quota.demand import foreseen
from bastion.quota.quota import Quota

from ..model.state.state import Attempt, AttemptState, Cause, Job, State
from ..model.state.transitions import FAILURES
from .eligibility import Obstacle, eligibility_of

KEEP = timedelta(seconds=60)
"""The limit for keeping the resources of a failed try for the next try.

They are kept if the pause before the next try is at most this long. If that try cannot start in time, they are kept for
this much longer.
"""

_LATE = timedelta(seconds=1)
"""The tolerance of `KEEP`: a pause counts from when the end was written, so it can come out a little longer."""


def until(job: Job, attempt: Attempt) -> datetime | None:
    """Return the latest time at which an attempt ends; None if nothing limits it."""
    if attempt.state is AttemptState.STOPPING:
        return attempt.deadline
    # At its deadline it is asked to stop; then it may use its grace.
    ends = [job.deadline + timedelta(seconds=job.grace_s)] if job.deadline else []
    if job.time_limit_s is not None:
        ends.append((attempt.running or attempt.started) + timedelta(seconds=job.time_limit_s))
    return min(ends, default=None)


def finish_by(job: Job, attempt: Attempt) -> datetime | None:
    """Return when the rest of a gang is ended because one of its workers has exited with 0.

    None if no such limit applies. The policy does not use this time to foresee ends. So its decisions stay those that
    the journal holds.
    """
    if attempt.finishing is None or not job.finish_timeout_s or attempt.state is AttemptState.STOPPING:
        return None
    return attempt.finishing + timedelta(seconds=job.finish_timeout_s) if attempt.at_work else None


def kept(state: State, job: Job, quota: Quota, now: datetime) -> dict[int, datetime]:
    """Return the tasks whose last try failed and whose resources are kept, each with the time of its next try.

    A task of the job that started since then takes the place of one of these, unless it started for its own next try.
    Nothing is kept while something else keeps the job back. No more is kept than may run beside the live tasks.
    """
    rows = sorted(_kept(job, now)) if job.waiting else []
    if not rows or eligibility_of(state, job, quota, now).bar not in (Obstacle.NONE, Obstacle.RETRY, Obstacle.PARALLEL):
        return {}
    live = [job.tasks[number].attempts for number in state.live.get(job.id, ())]
    taken = sum(tries[-1].started >= rows[0][0] and not (tries[:-1] and tries[-2].cause in FAILURES) for tries in live)
    most = len(rows) if job.max_parallel is None else max(0, job.max_parallel - len(live))
    return {number: at for _, number, at in rows[taken:][:most]}


def _kept(job: Job, now: datetime) -> Iterator[tuple[datetime, int, datetime]]:
    for number in job.waiting:
        task = job.tasks[number]
        last = task.attempts[-1] if task.attempts else None
        # An attempt that was being preempted frees its resources for the other job, no matter how it ended.
        if last and last.cause in FAILURES and last.ended is not None and last.stopping is not Cause.PREEMPTED:
            at = task.ready_at or last.ended
            if at - last.ended <= KEEP + _LATE and now < at + KEEP:
                yield last.ended, number, at


def saved(attempt: Attempt, now: datetime) -> datetime | None:
    """Return when an attempt last wrote a checkpoint, as reported or as foreseen; None: never.

    Workers report it by their own clocks. So the result is limited to the time from the attempt's start to now.
    """
    if attempt.saved is None:
        return None
    return min(max(foreseen(attempt.saved, attempt.every_s, now), attempt.started), now)
