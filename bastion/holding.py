"""For how long an attempt holds what it has, and how much of its work is safe: for decisions and for readers. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta

from bastion.state import Attempt, AttemptState, Job
from quota.claims import foreseen


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


def saved(attempt: Attempt, now: datetime) -> datetime | None:
    """When an attempt last wrote a checkpoint, as far as is known or foreseen; None: never.

    Workers tell it by clocks of their own: it is never before the attempt began, and never later than now.
    """
    if attempt.saved is None:
        return None
    return min(max(foreseen(attempt.saved, attempt.every_s, now), attempt.started), now)
