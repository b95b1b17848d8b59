"""The times when a job was stopped for others: for which job, why this one, and what it cost. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bastion.model.state.state import Attempt, Cause, Job, State

from .what_if_decision import JobReference

HOUR_S = 3_600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptedAttempt:
    """An attempt that was stopped, or is being stopped, for another job.

    task: number of the task.
    attempt: number of the attempt.
    at: when the stop was decided.
    ended: when the attempt was over; None: not yet.
    by: job that it was stopped for; None: the capacity shrank, or that job has left the state.
    why: reason in the policy's words.
    lost_s: seconds of work since the last checkpoint; None: not counted.
    lost: the same in units times hours, by kind; None: not counted.
    before: how often the task had been stopped for others before.
    """

    task: int
    attempt: int
    at: datetime
    ended: datetime | None
    by: JobReference | None
    why: str
    lost_s: float | None
    lost: Mapping[str, float] | None
    before: int


def stopped(state: State, job: Job, task: int | None) -> Iterator[PreemptedAttempt]:
    """Yield all stops of a job, or of one of its tasks, oldest first."""
    rows = [
        _stopped(state, job, number, attempt, before)
        for number, each in job.tasks.items()
        if task in (None, number)
        for before, attempt in enumerate(one for one in each.attempts if one.stopping is Cause.PREEMPTED)
    ]
    yield from sorted(rows, key=lambda row: (row.at, row.task))


def _stopped(state: State, job: Job, task: int, attempt: Attempt, before: int) -> PreemptedAttempt:
    by = state.jobs.get(attempt.for_job)
    lost_s, deadline = attempt.lost_s, attempt.deadline
    assert deadline is not None  # each stopping attempt has one
    return PreemptedAttempt(
        task=task,
        attempt=attempt.number,
        at=deadline - timedelta(seconds=attempt.grace_s or 0.0),
        ended=attempt.ended,
        by=JobReference.of(by) if by else None,
        why=attempt.reason,
        lost_s=lost_s,
        lost=None if lost_s is None else {kind: lost_s * n / HOUR_S for kind, n in job.demand.items() if n},
        before=before,
    )
