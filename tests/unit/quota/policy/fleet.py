"""Short words for wants, holds, quotas and one decision, for the tests of the scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from msgspec.structs import replace

from bastion.quota.demand import RULES, Holding, PolicySettings, Schedule, Want
from bastion.quota.policy.index import WantIndex
from bastion.quota.policy.interface import Past
from bastion.quota.policy.scheduler import POLICIES
from bastion.quota.project_work import ProjectWork, Work, rank_number
from bastion.quota.project_work import hold as enter_work
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from bastion.quota.tiers import Capacity

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def want(
    job: str,
    project: str,
    demand: Resources,
    *,
    user: str = "ann",
    priority: int = 5,
    order: int = 0,
    count: int = 1,
    waited: float = 1000.0,
) -> Want:
    return Want(
        job=job,
        project=project,
        user=user,
        demand=demand,
        priority=priority,
        order=order,
        count=count,
        since=ago(waited),
    )


def hold(
    job: str,
    project: str,
    demand: Resources,
    *,
    user: str = "ann",
    priority: int = 5,
    order: int = 0,
    task: int = 0,
    tier: int = 0,
    age: float = 1000.0,
    stopping: bool = False,
) -> Holding:
    return Holding(
        job=job,
        project=project,
        user=user,
        demand=demand,
        priority=priority,
        order=order,
        task=task,
        tier=tier,
        since=ago(age),
        stopping=stopping,
    )


def work_of(work: dict[str, ProjectWork], row: Holding, sign: int, now: datetime) -> None:
    """Enter that an attempt holds its demand from now on, or no more."""
    enter_work(
        work,
        row.project,
        row.demand,
        sign,
        rank=rank_number(row.job_class, row.priority),
        order=row.order,
        start=row.since,
        now=now,
    )


def quota(*tiers: Resources, **shares: Mapping[str, str]) -> Quota:
    rows = {project: {kind: Fraction(share) for kind, share in row.items()} for project, row in shares.items()}
    return Quota(tiers=tiers, shares=rows)


def decide(
    limits: Quota,
    *,
    wants: Iterable[Want] = (),
    holds: Iterable[Holding] = (),
    index: WantIndex | None = None,
    reclaims: tuple[str, ...] = (),
    capacity: Capacity | tuple[Resources, ...] | None = None,
    delay: float = 90.0,
    patience: float = PolicySettings().gang_patience_s,
    policy: str = "default",
    now: datetime = NOW,
    rules: int = RULES,
    work: Work | None = None,
    past: Past | None = None,
) -> Schedule:
    """Ask a policy, about a board or about one made of wants and holds."""
    return POLICIES[policy](
        index=index or WantIndex.of_all(wants, holds),
        reclaims=reclaims,
        quota=limits,
        capacity=capacity
        if isinstance(capacity, Capacity)
        else Capacity(limits.tiers if capacity is None else capacity),
        past=past or {},
        work=work or {},
        now=now,
        settings=PolicySettings(reclaim_delay_s=delay, gang_patience_s=patience, rules=rules),
    )


def started(schedule: Schedule) -> list[str]:
    return [start.job for start in schedule.starts]


def stopped(schedule: Schedule) -> list[tuple[str, int]]:
    return [(stop.job, stop.task) for stop in schedule.stops]


def stopping(row: Holding) -> Holding:
    return replace(row, stopping=True)
