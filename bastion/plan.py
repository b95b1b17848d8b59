"""What the schedule says of the state: who starts, who stops, and why everybody else waits. Pure.

The bastion asks for the starts and stops, readers for the reasons: both run the same decision on the same inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bastion.config import Config
from bastion.config import parse as parse_config
from bastion.events import (
    Claimed,
    Exited,
    Gone,
    Illegal,
    JobRejected,
    ReclaimDropped,
    RequestRejected,
    Started,
    Stopping,
    Voided,
)
from bastion.state import AttemptState, Cause, Job, JobState, State
from quota.claims import Hold, Knobs, Schedule, Want
from quota.file import parse as parse_quota
from quota.model import Quota
from quota.resources import Resources
from quota.scheduler import POLICIES
from quota.tiers import pool as effective_pool

INDIFFERENT = (Claimed, Exited, Gone, Illegal, JobRejected, RequestRejected, Voided)
"""After these the policy would answer as before: who waits and who holds is the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """What a decision rests on, beside the state itself. All of it is in the journal.

    `quota` None: there is a quota file, it cannot be used, and there never was a good one: start nothing.
    """

    quota: Quota | None
    config: Config


def inputs(state: State) -> Inputs:
    """Quota and settings in force, parsed. No quota file: a single user's fleet."""
    quota, settings = state.files.get("quota"), state.files.get("config")
    return Inputs(
        quota=_quota(quota.text) if quota and quota.text != "" else Quota.open(),
        config=parse_config(settings.text) if settings and settings.text is not None else Config(),
    )


def _quota(text: str | None) -> Quota | None:
    return None if text is None else parse_quota(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer: events for the starts and stops, a line for every job that waits, when to ask again."""

    schedule: Schedule
    reasons: Mapping[str, str] = field(default_factory=dict)
    again: datetime | None = None


def pool_of(state: State, inputs: Inputs) -> tuple[Resources, ...]:
    """What each tier holds now."""
    reported = state.reported()
    return effective_pool(inputs.quota, reported) if inputs.quota else (reported or {},)


def plan(state: State, inputs: Inputs, now: datetime) -> Plan:
    """Run the policy on the state. A paused bastion starts nothing and stops nobody."""
    if state.paused is not None:
        waiting = (state.jobs[job_id] for job_id in state.pending)
        return Plan(schedule=Schedule(), reasons={job.id: held(job) if job.held else paused(state) for job in waiting})
    if inputs.quota is None:
        problem = state.files["quota"].problem
        return Plan(schedule=Schedule(), reasons=dict.fromkeys(state.pending, f"the quota file is broken: {problem}"))
    if not state.capacity:
        return Plan(schedule=Schedule(), reasons=dict.fromkeys(state.pending, "no runner has reported yet"))
    wants, reasons, ready = _wants(state, inputs.quota, now)
    schedule = POLICIES[inputs.config.policy](
        wants=wants,
        holds=list(_holds(state)),
        reclaims=tuple(state.reclaims),
        quota=inputs.quota,
        pool=pool_of(state, inputs),
        now=now,
        knobs=Knobs(reclaim_delay_s=inputs.config.reclaim_delay),
    )
    again = min((at for at in (ready, schedule.again) if at), default=None)
    return Plan(schedule=schedule, reasons={**reasons, **schedule.reasons}, again=again)


def starts(
    state: State, schedule: Schedule, workers: Mapping[str, int], runner: str, now: datetime
) -> Iterator[Started]:
    """The starts as events. `workers` says of how many hosts an attempt of each job consists."""
    ready: dict[str, Iterator[int]] = {}
    for start in schedule.starts:
        job = state.jobs[start.job]
        if job.id not in ready:
            ready[job.id] = iter(waiting_tasks(job, now))
        number = next(ready[job.id])
        attempt = len(job.tasks[number].attempts) if number in job.tasks else 0
        yield Started(job=job.id, task=number, attempt=attempt, runner=runner, tier=start.tier, workers=workers[job.id])


def stops(state: State, schedule: Schedule, now: datetime) -> Iterator[Stopping]:
    """The stops as events."""
    for stop in schedule.stops:
        job = state.jobs[stop.job]
        yield Stopping(
            job=job.id,
            task=stop.task,
            attempt=job.tasks[stop.task].attempts[-1].number,
            cause=Cause.PREEMPTED,
            deadline=now + timedelta(seconds=job.grace_s),
            reason=stop.reason,
            for_job=stop.for_job or "",
        )


def dropped(state: State, inputs: Inputs) -> Iterator[ReclaimDropped]:
    """Reclaims whose job may not start any more: what was freed is for all again."""
    for job_id in list(state.reclaims):
        job = state.jobs[job_id]
        if inputs.quota is not None and not inputs.quota.admits(job.user, job.project):
            yield ReclaimDropped(job=job_id)


def waiting_tasks(job: Job, now: datetime) -> list[int]:
    """The tasks that may start now, the interrupted ones first."""
    again = sorted(number for number in job.waiting if (job.tasks[number].ready_at or now) <= now)
    untouched = job.counts.get(JobState.PENDING, 0) - len(job.waiting)
    if untouched <= 0:
        return again
    return again + [number for number in range(job.fresh, job.count) if number not in job.tasks]


def _wants(state: State, quota: Quota, now: datetime) -> tuple[list[Want], dict[str, str], datetime | None]:
    """Who wants to start now; a line for each of the others; and when the first of those will be ready."""
    wants, reasons, ready_at = [], {}, None
    for job_id in state.pending:
        job = state.jobs[job_id]
        if job.held is not None:
            reasons[job_id] = held(job)
            continue
        if not quota.admits(job.user, job.project):
            reasons[job_id] = f"{job.user} is not a member of {job.project}; ask for a line in [project_membership]"
            continue
        later = [at for number in job.waiting if (at := job.tasks[number].ready_at) and at > now]
        if later:
            ready_at = min([*later, ready_at] if ready_at else later)
        count = job.counts.get(JobState.PENDING, 0) - len(later)
        if count:
            wants.append(_want(job, count))
        else:
            reasons[job_id] = _resting(job, min(later), now)
    return wants, reasons, ready_at


def paused(state: State) -> str:
    """Why nothing starts while the bastion is paused; empty if it is not."""
    return f"paused by {state.paused}" if state.paused else ""


def held(job: Job) -> str:
    """Why a held job does not start."""
    return f"held by {job.held}; launch release {job.id} lets it start"


def _resting(job: Job, until: datetime, now: datetime) -> str:
    return f"tries again in {(until - now).total_seconds():.0f} s, after: {job.reason}"


def _want(job: Job, count: int) -> Want:
    return Want(
        job=job.id,
        project=job.project,
        user=job.user,
        demand=job.demand,
        priority=job.priority,
        order=job.order,
        since=job.since,
        count=count,
    )


def _holds(state: State) -> Iterator[Hold]:
    for key, job, attempt in state.live_attempts():
        yield Hold(
            job=job.id,
            project=job.project,
            user=job.user,
            demand=job.demand,
            priority=job.priority,
            order=job.order,
            since=attempt.started,
            task=key.task,
            tier=attempt.tier,
            stopping=attempt.state is AttemptState.STOPPING,
        )
