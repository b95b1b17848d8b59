"""The account of pending tasks: which attempts hold what they ask for, what is ahead, what holds them back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bastion.journal.recent_usage import past
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Attempt, AttemptState, Job
from bastion.quota.policy.reasons import impossible
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, minus, plus, total
from bastion.quota.shares import Shares, amounts
from bastion.schedule.held_work import until
from bastion.schedule.plan import Plan, current_capacity
from bastion.schedule.usage import ExcessDemand, excess, held, shares

from .held_back import HeldBack, gates
from .queue_position import JobAhead, QueuePosition, Use, ahead, kept, line, place
from .reservation import Reservation, TimeOvertaken, overtaken, reservation
from .start_estimate import StartEstimate
from .what_if_state import WhatIfCase


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAmount:
    """One kind of resource that a task asks for, and the position of its project. Amounts are in units.

    kind: the kind.
    asked: demand of one task.
    pool: capacity of all tiers.
    free: what is not held.
    freeing: what attempts hold that are being stopped.
    share: what the project is promised; None: no project has a share of this kind.
    used: what the project holds.
    borrowed: what the project holds beyond its share.
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
    """An attempt that holds something of what the job asks for.

    job: id of its job.
    user: user of its job.
    project: project of its job.
    task: number of the task.
    resources: what it holds.
    since: when it ran first, or else when it was started.
    until: its latest end; None: nothing bounds it.
    stopping: it is being stopped.
    for_job: id of the job that it is stopped for; empty: none.
    """

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
class WaitingAccount:
    """The account of a job's pending tasks.

    amounts: kinds that a task asks for.
    place: position of the job; None: the decision does not consider it.
    ahead: jobs of the project that go first, in their order.
    holders: attempts that hold something of what it asks for.
    gates: obstacles that hold it back.
    never: why it can never start as it is; empty: it can.
    overtaken: how far it is overtaken; None: it is not, or can have no right by it.
    reservation: the job for which its project keeps room; None: there is none.
    excess: for each kind, whether its project asks for more than its share with jobs as large as this one.
    outlook: start estimate and remedies; None: not computed.
    """

    amounts: tuple[ResourceAmount, ...]
    place: QueuePosition | None
    ahead: tuple[JobAhead, ...]
    holders: tuple[Holder, ...]
    gates: tuple[HeldBack, ...]
    never: str
    overtaken: TimeOvertaken | None = None
    reservation: Reservation | None = None
    excess: tuple[ExcessDemand, ...] = ()
    outlook: StartEstimate | None = None


def waiting(case: WhatIfCase, job: Job, answer: Plan) -> WaitingAccount:
    """Return the account of a job with pending tasks. `answer` is the decision on `case`."""
    state, capacity = case.state, current_capacity(case.state, case.inputs)
    promised = shares(state, case.inputs.quota or Quota.open())
    rows = [_holder(*row) for row in state.live_attempts() if _shared(row[1].demand, job.demand)]
    rows.sort(key=lambda row: (row.project != job.project, -_sum([row.resources], *job.demand), row.since, row.job))
    order = line(state, job, answer, capacity.of_partitions())
    used = held(state, case.inputs.quota or Quota.open())
    free = minus(promised.capacity, total(used.values()))
    return WaitingAccount(
        amounts=tuple(_amounts(job, promised, rows, used.get(job.project, {}), free)),
        place=place(state, job, order),
        ahead=tuple(ahead(job, order, _uses(case, job.project, promised), kept(state, answer))),
        holders=tuple(rows),
        gates=tuple(gates(case, job)),
        never=impossible(amounts(job.demand), capacity.of_partitions(job.max_tier)) or "",
        overtaken=overtaken(job, answer.schedule, case.now),
        reservation=reservation(job, order, answer.schedule, free, case.now),
        excess=tuple(_excess(case, job)) if job in order else (),
    )


def _uses(case: WhatIfCase, project: str, promised: Shares) -> dict[str, Use]:
    """Return the recent and the present use of each user of a project, as parts of the capacity."""
    holds: dict[str, Resources] = {}
    for _, job, _ in case.state.live_attempts():
        if job.project == project:
            holds[job.user] = plus(holds.get(job.user, {}), job.demand)
    late = past(case.state, promised.capacity, case.now)
    users = {*holds, *(user for name, user in late if name == project)}
    return {user: (late.get((project, user), 0.0), promised.dominant(holds.get(user, {}))) for user in users}


def _excess(case: WhatIfCase, job: Job) -> Iterable[ExcessDemand]:
    """Yield the excess demands that this job is a part of."""
    for row in excess(case.state, case.inputs.quota or Quota.open(), case.now):
        if row.project == job.project and job.demand.get(row.kind) == row.size:
            yield row


def _amounts(
    job: Job, promised: Shares, rows: Sequence[Holder], used: Resources, free: Resources
) -> Iterable[ResourceAmount]:
    """Yield what a task asks for. `used` is what its project holds, and `free` what is not held."""
    for kind, asked in job.demand.items():
        yield ResourceAmount(
            kind=kind,
            asked=asked,
            pool=promised.capacity.get(kind, 0),
            free=max(0, free.get(kind, 0)),
            freeing=_sum((row.resources for row in rows if row.stopping), kind),
            share=promised.units(job.project).get(kind, 0) if kind in promised.governed else None,
            used=used.get(kind, 0),
            borrowed=promised.borrowed(job.project, used).get(kind, 0),
        )


def _holder(key: AttemptKey, job: Job, attempt: Attempt) -> Holder:
    return Holder(
        job=job.id,
        user=job.user,
        project=job.project,
        task=key.task,
        resources=job.demand,
        since=attempt.running or attempt.started,
        until=until(job, attempt),
        stopping=attempt.state is AttemptState.STOPPING,
        for_job=attempt.for_job,
    )


def _shared(one: Resources, other: Resources) -> bool:
    return any(amount and other.get(kind) for kind, amount in one.items())


def _sum(rows: Iterable[Resources], *kinds: str) -> int:
    return sum(row.get(kind, 0) for row in rows for kind in kinds)
