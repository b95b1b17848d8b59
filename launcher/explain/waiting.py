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
from bastion.quota.resources import Resources, plus, total
from bastion.quota.shares import Shares, amounts
from bastion.schedule.held_work import until
from bastion.schedule.plan import Plan, current_capacity
from bastion.schedule.usage import held, shares

from .held_back import HeldBack, gates
from .queue_position import JobAhead, QueuePosition, Use, ahead, kept, line, place
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
    outlook: start estimate and remedies; None: not computed.
    """

    amounts: tuple[ResourceAmount, ...]
    place: QueuePosition | None
    ahead: tuple[JobAhead, ...]
    holders: tuple[Holder, ...]
    gates: tuple[HeldBack, ...]
    never: str
    outlook: StartEstimate | None = None


def waiting(case: WhatIfCase, job: Job, answer: Plan) -> WaitingAccount:
    """Return the account of a job with pending tasks. `answer` is the decision on `case`."""
    state, capacity = case.state, current_capacity(case.state, case.inputs)
    promised = shares(state, case.inputs.quota or Quota.open())
    rows = [_holder(*row) for row in state.live_attempts() if _shared(row[1].demand, job.demand)]
    rows.sort(key=lambda row: (row.project != job.project, -_sum([row.resources], *job.demand), row.since, row.job))
    order = line(state, job, answer, capacity.of_partitions())
    return WaitingAccount(
        amounts=tuple(_amounts(case, job, promised, rows)),
        place=place(state, job, order),
        ahead=tuple(ahead(job, order, _uses(case, job.project, promised), kept(state, answer))),
        holders=tuple(rows),
        gates=tuple(gates(case, job)),
        never=impossible(amounts(job.demand), capacity.of_partitions(job.max_tier)) or "",
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


def _amounts(case: WhatIfCase, job: Job, promised: Shares, rows: Sequence[Holder]) -> Iterable[ResourceAmount]:
    used = held(case.state, case.inputs.quota or Quota.open())
    taken, own = total(used.values()), used.get(job.project, {})
    for kind, asked in job.demand.items():
        there = promised.capacity.get(kind, 0)
        yield ResourceAmount(
            kind=kind,
            asked=asked,
            pool=there,
            free=max(0, there - taken.get(kind, 0)),
            freeing=_sum((row.resources for row in rows if row.stopping), kind),
            share=promised.units(job.project).get(kind, 0) if kind in promised.governed else None,
            used=own.get(kind, 0),
            borrowed=promised.borrowed(job.project, own).get(kind, 0),
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
