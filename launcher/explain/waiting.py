"""What a job that waits is up against: who has what it asks for, who is ahead, what keeps it from its turn. Pure."""

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
from bastion.schedule.plan import Plan, pool_of
from bastion.schedule.usage import held, shares

from .held_back import HeldBack, gates
from .queue_position import Ahead, QueuePosition, Use, ahead, kept, line, place
from .start_estimate import StartEstimate
from .what_if_state import WhatIfCase


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
class WaitingAccount:
    """The whole account.

    `ahead` are those of its project that go first, in their order. `gates` keep it from its turn. `never` says why it
    can never start as it is. What would start it, and when it will, is in `outlook`, if that was asked.
    """

    amounts: tuple[Amount, ...]
    place: QueuePosition | None
    ahead: tuple[Ahead, ...]
    holders: tuple[Holder, ...]
    gates: tuple[HeldBack, ...]
    never: str
    outlook: StartEstimate | None = None


def waiting(case: WhatIfCase, job: Job, answer: Plan) -> WaitingAccount:
    """The account of a job with tasks that wait; `answer` is the decision that was taken on this case."""
    state, pool = case.state, pool_of(case.state, case.inputs)
    promised = shares(state, case.inputs.quota or Quota.open())
    rows = [_holder(*row) for row in state.live_attempts() if _shared(row[1].demand, job.demand)]
    rows.sort(key=lambda row: (row.project != job.project, -_sum([row.resources], *job.demand), row.since, row.job))
    order = line(state, job, answer, pool.of_sides())
    return WaitingAccount(
        amounts=tuple(_amounts(case, job, promised, rows)),
        place=place(state, job, order),
        ahead=tuple(ahead(job, order, _uses(case, job.project, promised), kept(state, answer))),
        holders=tuple(rows),
        gates=tuple(gates(case, job)),
        never=impossible(amounts(job.demand), pool.of_sides(job.max_tier)) or "",
    )


def _uses(case: WhatIfCase, project: str, promised: Shares) -> dict[str, Use]:
    """What each user of a project used of late, and holds now: as parts of the pool."""
    holds: dict[str, Resources] = {}
    for _, job, _ in case.state.live_attempts():
        if job.project == project:
            holds[job.user] = plus(holds.get(job.user, {}), job.demand)
    late = past(case.state, promised.pool, case.now)
    users = {*holds, *(user for name, user in late if name == project)}
    return {user: (late.get((project, user), 0.0), promised.dominant(holds.get(user, {}))) for user in users}


def _amounts(case: WhatIfCase, job: Job, promised: Shares, rows: Sequence[Holder]) -> Iterable[Amount]:
    used = held(case.state, case.inputs.quota or Quota.open())
    taken, own = total(used.values()), used.get(job.project, {})
    for kind, asked in job.demand.items():
        pool = promised.pool.get(kind, 0)
        yield Amount(
            kind=kind,
            asked=asked,
            pool=pool,
            free=max(0, pool - taken.get(kind, 0)),
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
