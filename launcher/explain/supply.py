"""The supply for a pending job: what exists of the kinds it asks for, and which jobs hold them or go first. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bastion.model.state.state import AttemptState, Job
from bastion.quota.resources import Resources, minus, total
from bastion.quota.shares import Shares
from bastion.schedule.plan import Plan, current_capacity
from bastion.schedule.usage import held, shares

from .queue_position import line
from .what_if_state import WhatIfCase


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """The supply for one pending job in a case. Amounts are in units by kind.

    case: the case.
    job: the job.
    tiers: number of tiers.
    shares: shares of all projects.
    used: what each project holds.
    own: what the job's user holds in its project.
    free: what is not held; negative where more is held than exists.
    holders: jobs that hold a kind that the job asks for, the easiest to end first.
    ahead: jobs of the project that go first.
    """

    case: WhatIfCase
    job: Job
    tiers: int
    shares: Shares
    used: Mapping[str, Resources]
    own: Resources
    free: Resources
    holders: Sequence[Job]
    ahead: Sequence[Job]

    def lack(self) -> dict[str, int]:
        """Return what one task asks for beyond what is free."""
        return {kind: max(0, n - max(0, self.free.get(kind, 0))) for kind, n in self.job.demand.items() if n}

    def limits(self) -> dict[str, int]:
        """Return the user's limits for the kinds that the job asks for."""
        quota = self.case.inputs.quota
        limits = quota.user_limits.get(self.job.project, {}) if quota else {}
        return {kind: limits[kind] for kind in self.lack() if kind in limits}


def standing(case: WhatIfCase, job: Job, answer: Plan) -> Supply:
    """Compute the supply for a job with pending tasks. `answer` is the decision on `case`."""
    state, quota = case.state, case.inputs.quota
    assert quota is not None
    promised, used = shares(state, quota), held(state, quota)
    there = current_capacity(state, case.inputs)
    order = line(state, job, answer, there.of_partitions())
    staying = [other for _, other, attempt in state.live_attempts() if attempt.state is not AttemptState.STOPPING]
    rows = {other.id: other for other in staying if other is not job}
    holders = [other for other in rows.values() if any(job.demand.get(kind) for kind, n in other.demand.items() if n)]

    def nearness(other: Job) -> tuple[bool, bool, int, int]:
        """Sort the user's own jobs first, then those of the project, then the ones that hold most."""
        size = sum(other.demand.get(kind, 0) for kind in job.demand) * len(state.live[other.id])
        return other.user != job.user, other.project != job.project, -size, other.order

    return Supply(
        case=case,
        job=job,
        tiers=len(there.tiers),
        shares=promised,
        used=used,
        own=total(o.demand for _, o, _ in state.live_attempts() if (o.user, o.project) == (job.user, job.project)),
        free=minus(promised.capacity, total(used.values())),
        holders=sorted(holders, key=nearness),
        ahead=order[: order.index(job)] if job in order else [],
    )
