"""How far a pending job is overtaken, and the job for which its project keeps room: since when, and at what cost. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bastion.model.state.state import Job
from bastion.quota.demand import Overtaken, Schedule
from bastion.quota.resources import Resources


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeOvertaken:
    """How far a job is overtaken by jobs of its project that stand behind it.

    overtaken_s: the part of the seconds since it waits for which they got its project's work.
    limit_s: for how many seconds it may be overtaken. Beyond that, its project keeps room for it.
    part: the part of the work of its project since it waits that they got.
    of_all: the work is that of all that ran since then; else of what started since then.
    """

    overtaken_s: float
    limit_s: float
    part: float
    of_all: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """The job for which a project keeps room, and what that costs the project. Amounts are in units of `kind`.

    job: id of that job.
    user: its user.
    kind: the kind of which it asks for most, as a part of the capacity.
    asked: demand of one task.
    free: what is free of that, wherever it lies.
    since: about since when room is kept: when the job had been overtaken for its limit, if that grew evenly.
    overtaken: how far it is overtaken.
    behind: number of jobs of the project that do not start before it.
    is_own: the explained job is that job.
    holds_back: the explained job is one of those behind it.
    """

    job: str
    user: str
    kind: str
    asked: int
    free: int
    since: datetime
    overtaken: TimeOvertaken
    behind: int
    is_own: bool
    holds_back: bool


def overtaken(job: Job, answer: Schedule, now: datetime) -> TimeOvertaken | None:
    """Return how far a job is overtaken; None if it is not, or can have no right by it.

    Ask before the index of pending jobs changes. `now` is the time of the decision.
    """
    found = answer.overtaken(job.id)
    return _time(found, now) if found and found.overtaken_s > 0 else None


def reservation(job: Job, order: Sequence[Job], answer: Schedule, free: Resources, now: datetime) -> Reservation | None:
    """Return the job for which the project of this one keeps room; None if there is none.

    `order` are the pending jobs of the project, and `free` is what is not held. Ask before the index changes.
    """
    found = answer.reservations.get(job.project)
    if found is None or job not in order:
        return None
    waited = now - found.since
    return Reservation(
        job=found.job,
        user=found.user,
        kind=found.kind,
        asked=found.units,
        free=min(found.units, max(0, free.get(found.kind, 0))),
        since=found.since + waited * (found.limit_s / found.overtaken_s),
        overtaken=_time(found, now),
        behind=sum(answer.held_back(other.id) for other in order),
        is_own=found.job == job.id,
        holds_back=answer.held_back(job.id),
    )


def _time(found: Overtaken, now: datetime) -> TimeOvertaken:
    return TimeOvertaken(
        overtaken_s=found.overtaken_s,
        limit_s=found.limit_s,
        part=found.overtaken_s / max(1e-6, (now - found.since) / timedelta(seconds=1)),
        of_all=found.of_all,
    )
