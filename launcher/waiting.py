"""What a job that waits is up against: who has what it asks for, who is ahead, when something ends, what would help. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bastion.plan import Inputs, Plan, paused, pool_of
from bastion.state import Attempt, AttemptState, Job, JobState, State
from bastion.usage import held, shares
from quota.model import Quota
from quota.reasons import impossible, remedies
from quota.resources import Resources, fits, plus, total
from quota.shares import Shares, amounts


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """One kind that a task of the job asks for, in units: what there is of it, and how the job's project stands.

    `share` is None where nobody has one.
    """

    kind: str
    asked: int
    pool: int
    free: int
    freeing: int
    share: int | None
    used: int
    borrowed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """An attempt that has some of what is asked for. `until` is when it ends at the latest, if that is known."""

    job: str
    user: str
    project: str
    task: int
    resources: Resources
    since: datetime
    until: datetime | None
    stopping: bool
    for_job: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A job of the same project that goes first, with `tasks` that wait."""

    job: str
    user: str
    resources: Resources
    priority: int
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The whole account. `enough_at` is when enough will be free at the latest, if nobody goes first, by `enough_by`'s end."""

    amounts: tuple[Amount, ...]
    ahead: tuple[Ahead, ...]
    holders: tuple[Holder, ...]
    enough_at: datetime | None
    enough_by: str
    helps: tuple[str, ...]


def waiting(state: State, job: Job, inputs: Inputs, answer: Plan, now: datetime) -> Waiting:
    """The account of a job with tasks that wait; `answer` is the decision that was taken on this state."""
    pool, used = total(pool_of(state, inputs)), held(state).get(job.project, {})
    promised = shares(state, inputs.quota or Quota.open())
    attempts = state.live_attempts()
    free = {kind: amount - _sum((other.demand for _, other, _ in attempts), kind) for kind, amount in pool.items()}
    rows = [_holder(other, key.task, attempt) for key, other, attempt in attempts if _shared(other.demand, job.demand)]
    rows.sort(key=lambda row: (row.project != job.project, -_sum([row.resources], *job.demand), row.since, row.job))
    at, by = _enough(job.demand, free, rows)
    return Waiting(
        amounts=tuple(_amount(job, kind, free, rows, promised, used) for kind in job.demand),
        ahead=tuple(_ahead(state, job, answer, pool)),
        holders=tuple(rows),
        enough_at=at,
        enough_by=by,
        helps=(*_asked(state, job), *_helps(job, inputs, free, promised, used, now)),
    )


def until(job: Job, attempt: Attempt) -> datetime | None:
    """When an attempt ends at the latest; None if nothing bounds it."""
    if attempt.state is AttemptState.STOPPING:
        return attempt.deadline
    if job.time_limit_s is None:
        return None
    return (attempt.running or attempt.started) + timedelta(seconds=job.time_limit_s)


def _amount(job: Job, kind: str, free: Resources, rows: Iterable[Holder], promised: Shares, used: Resources) -> Amount:
    return Amount(
        kind=kind,
        asked=job.demand[kind],
        pool=promised.pool.get(kind, 0),
        free=max(0, free.get(kind, 0)),
        freeing=_sum((row.resources for row in rows if row.stopping), kind),
        share=promised.units(job.project).get(kind, 0) if kind in promised.governed else None,
        used=used.get(kind, 0),
        borrowed=promised.borrowed(job.project, used).get(kind, 0),
    )


def _holder(job: Job, task: int, attempt: Attempt) -> Holder:
    return Holder(
        job=job.id,
        user=job.user,
        project=job.project,
        task=task,
        resources=job.demand,
        since=attempt.running or attempt.started,
        until=until(job, attempt),
        stopping=attempt.state is AttemptState.STOPPING,
        for_job=attempt.for_job,
    )


def _ahead(state: State, job: Job, answer: Plan, pool: Resources) -> Iterable[Ahead]:
    """Those of its project that were considered before it, but for those that can never start."""
    for other in answer.schedule.reasons if job.id in answer.schedule.reasons else ():
        if other == job.id:
            return
        row = state.jobs[other]
        if row.project == job.project and not impossible(amounts(row.demand), pool):
            tasks = row.counts.get(JobState.PENDING, 0)
            yield Ahead(job=row.id, user=row.user, resources=row.demand, priority=row.priority, tasks=tasks)


def _enough(demand: Resources, free: Resources, rows: Sequence[Holder]) -> tuple[datetime | None, str]:
    """When enough is free, by the ends that are known; and whose end that is."""
    if fits(demand, free):
        return None, ""
    for row in sorted((row for row in rows if row.until), key=lambda row: (row.until, row.job, row.task)):
        free = plus(free, row.resources)
        if fits(demand, free):
            return row.until, f"{row.user}/{row.job}"
    return None, ""


def _asked(state: State, job: Job) -> Iterable[str]:
    """What people would have to do who stopped it from starting."""
    if state.paused:
        yield f"an admin's bastion resume: {paused(state)}"
    if job.held:
        yield f"launch release {job.id}: held by {job.held}"


def _helps(
    job: Job, inputs: Inputs, free: Resources, promised: Shares, used: Resources, now: datetime
) -> Iterable[str]:
    """What would have to change for it to start."""
    if inputs.quota is None:
        yield "a quota file that can be used: bastion quota check, bastion quota set"
        return
    if not inputs.quota.admits(job.user, job.project):
        yield f"a line for {job.user} in [project_membership] {job.project} of the quota file"
        return
    again = [task.ready_at for number in job.waiting if (task := job.tasks[number]).ready_at]
    if again and max(again) > now:
        yield f"time: it is tried again at {min(again):%H:%M:%S} UTC"
    yield from remedies(
        job.project,
        amounts(job.demand),
        shares=promised,
        used=used,
        free=free,
        reclaim_in_s=max(0.0, inputs.config.reclaim_delay - (now - job.since).total_seconds()),
    )


def _shared(one: Resources, other: Resources) -> bool:
    return any(amount and other.get(kind) for kind, amount in one.items())


def _sum(rows: Iterable[Resources], *kinds: str) -> int:
    return sum(row.get(kind, 0) for row in rows for kind in kinds)
