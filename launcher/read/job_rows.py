"""Rows of jobs for scripts: plain values in the shape of `launch ls --json`. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from bastion.journal.task_counters import shape
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Attempt, AttemptState, Cause, Job, JobState
from bastion.model.stored.requests import job_id
from bastion.schedule.eligibility import held

Row = dict[str, Any]


def row(job: Job, reason: str) -> Row:
    """Return the row of a job that the bastion has read. `reason` is why the job is pending, or empty."""
    return {
        "id": job.id,
        "name": job.name,
        "user": job.user,
        "project": job.project,
        "priority": job.priority,
        "resources": dict(job.resources),
        "num_replicas": job.replicas,
        **_choices(job.choices),
        "count": job.count,
        "state": job.state.value,
        "reason": reason_of(job, reason),
        "submitted": rfc3339(job.came),
        "tasks": {state.value: number for state, number in sorted(job.counts.items()) if number},
        "attempts": [_attempt(job, n, a) for n, task in sorted(job.tasks.items()) for a in task.attempts],
    }


def unread_row(spec: JobSpec, request_id: str, submitted: datetime, reason: str) -> Row:
    """Return the row of a job whose request the bastion has not read yet. Such a job is pending."""
    return {
        "id": job_id(spec.name, request_id),
        "name": spec.name,
        "user": spec.user,
        "project": spec.project,
        "priority": spec.priority,
        "resources": dict(spec.resources),
        "num_replicas": spec.replicas,
        **_choices(spec.choices if spec.alternatives else ()),
        "count": spec.count,
        "state": JobState.PENDING.value,
        "reason": reason,
        "submitted": rfc3339(submitted),
        "tasks": {JobState.PENDING.value: spec.count},
        "attempts": [],
    }


def _choices(choices: Sequence[Alternative]) -> Row:
    """Return the shapes of a job that lists several, best first; nothing for other jobs."""
    shapes = [{"resources": dict(choice.resources), "num_replicas": choice.replicas} for choice in choices]
    return {"choices": shapes} if shapes else {}


def reason_of(job: Job, derived: str) -> str:
    """Return one line that says what the job waits for, or how it ended; empty if there is nothing to say.

    `derived` is the reason from the decision, if there is one.
    """
    last = newest_attempt(job)
    match job.state:
        case JobState.PENDING:
            return _tasks(job) + (derived or job.reason or "not decided yet")
        case JobState.REJECTED:
            return job.reason
        case JobState.RUNNING | JobState.PROVISIONING:
            if derived and job.counts.get(JobState.PENDING):
                return _tasks(job) + derived
            if last and (last.waits_for or derived):
                return last.waits_for or derived
            return f"runs on, and is not started again: {held(job)}" if job.held else ""
        case JobState.PREEMPTING | JobState.CANCELLING:
            return (last.reason if last else "") or job.reason
        case JobState.CANCELLED:
            return f"cancelled by {job.cancelled_by}" if job.cancelled_by else job.reason
        case _:
            return job.reason or (ended_text(last) if last else "")


def _tasks(job: Job) -> str:
    """Return how many tasks of an array a reason is about, as the beginning of a sentence; empty for a plain job."""
    return f"{job.counts.get(JobState.PENDING, 0)} of {job.count} tasks wait: " if job.count > 1 else ""


def ended_at(attempt: Attempt) -> datetime | None:
    """Return when the attempt was over; None while it lives.

    That is when its last process ended, as the workers reported it, but not after the bastion recorded the end.
    """
    return attempt.ended and min(attempt.ended, attempt.finished or attempt.ended)


def ended_text(attempt: Attempt) -> str:
    """Return how an attempt ended or is about to end: the bastion's reason, or else the cause. Empty if all is well."""
    cause = attempt.cause or attempt.stopping
    if attempt.reason or cause is None:
        return attempt.reason
    return _CAUSES[cause].format(code=attempt.exit_code, signal=(attempt.exit_code or 128) - 128)


_CAUSES: Mapping[Cause, str] = {
    Cause.OK: "",
    Cause.CODE: "exit code {code}",
    Cause.SIGNAL: "killed by signal {signal}",
    Cause.OOM: "out of memory",
    Cause.TIME_LIMIT: "time limit passed",
    Cause.PREEMPTED: "preempted",
    Cause.CANCELLED: "cancelled",
    Cause.LOST: "machine lost",
    Cause.SETUP: "setup failed",
    Cause.VOID: "given up before it began",
    Cause.UPDATED: "replaced by a new command",
    Cause.DEADLINE: "deadline passed",
    Cause.STRAGGLED: "ran on after others had ended",
}


def newest_attempt(job: Job) -> Attempt | None:
    """Return the attempt that began last, of any task."""
    attempts = [task.attempts[-1] for task in job.tasks.values() if task.attempts]
    return max(attempts, key=lambda attempt: attempt.started, default=None)


def rfc3339(moment: datetime | None) -> str | None:
    """Format a time for scripts: `2026-01-31T09:30:00.250Z`."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _attempt(job: Job, task: int, attempt: Attempt) -> Row:
    return {
        "task": task,
        "attempt": attempt.number,
        "state": attempt.state.value,
        "cause": attempt.cause.value if attempt.cause else None,
        "started": rfc3339(attempt.started),
        "ended": rfc3339(ended_at(attempt)),
        "exit_code": attempt.exit_code if attempt.state is AttemptState.ENDED else None,
        "replicas": shape(job, attempt.choice).replicas,
        **({"resources": dict(shape(job, attempt.choice).resources)} if job.choices else {}),
    }
