"""The incumbent's order once more, as slow and as literal as can be: what quota/policy/axlearn.py is compared with.

Nothing of the policy is used here. Each step looks at all jobs again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bastion.quota.resources import Resources

Verdict = tuple[str, int | None]  # a job, and its tier if it runs


@dataclass(frozen=True, kw_only=True)
class Job:
    name: str
    project: str
    user: str
    demand: Resources
    priority: int
    created: int


def job(name: str, amount: int | Resources, *, created: int = 0, user: str = "", priority: int = 1) -> Job:
    """A job whose project is its name's first letter."""
    demand = {"v4": amount} if isinstance(amount, int) else amount
    return Job(name=name, project=name[0], user=user or name[0], demand=demand, priority=priority, created=created)


def queue(jobs: Sequence[Job]) -> list[Job]:
    """Inside a project: the best priority, then the user who has least in the queue, then the oldest, then by name."""
    waiting, order = list(jobs), list[Job]()
    while waiting:
        asked = {
            job.user: sum(sum(placed.demand.values()) for placed in order if placed.user == job.user) for job in waiting
        }
        own = {user: min((j for j in waiting if j.user == user), key=_age) for user in asked}  # one's own go by age
        first = min(own.values(), key=lambda job: (job.priority, asked[job.user], job.created, job.name))
        order.append(first)
        waiting.remove(first)
    return order


def rank(jobs: Sequence[Job], tiers: Sequence[Resources], weights: Mapping[str, Mapping[str, float]]) -> list[Verdict]:
    """All jobs in the global order."""
    whole = {kind: sum(tier.get(kind, 0) for tier in tiers) for tier in tiers for kind in tier}
    left = [dict(tier) for tier in tiers]
    queues = {project: queue([job for job in jobs if job.project == project]) for project in {j.project for j in jobs}}
    for row in queues.values():
        row.sort(key=lambda job: not _fits(job.demand, [whole]))  # what can never run goes to the end
    used: dict[tuple[str, str], int] = {}
    verdicts: list[Verdict] = []

    def ratio(job: Job, kind: str) -> float:
        of_all = sum(row.get(kind, 0.0) for row in weights.values())
        quota = weights.get(job.project, {}).get(kind, 0.0) / max(of_all, 1e-8) * whole.get(kind, 0)
        return (used.get((job.project, kind), 0) + job.demand[kind]) / max(quota, 1e-8)

    def turn(job: Job) -> tuple[float, int, str]:
        return max([0.0, *(ratio(job, kind) for kind in job.demand)]), job.created, job.project

    while heads := [row[0] for row in queues.values() if row]:
        job = min(heads, key=turn)
        queues[job.project].remove(job)
        tier = _place(job.demand, left) if _fits(job.demand, left) else None
        verdicts.append((job.name, tier))
        for kind, amount in job.demand.items():
            if tier is not None:
                used[job.project, kind] = used.get((job.project, kind), 0) + amount
    return verdicts


def _age(job: Job) -> tuple[int, int, str]:
    return job.priority, job.created, job.name


def _fits(demand: Resources, tiers: Sequence[Resources]) -> bool:
    return all(amount <= sum(tier.get(kind, 0) for tier in tiers) for kind, amount in demand.items())


def _place(demand: Resources, left: list[dict[str, int]]) -> int:
    """Down to the last tier that is needed; then taken from there upwards."""
    named = next(n for n in range(len(left)) if _fits(demand, left[: n + 1]))
    for kind, amount in demand.items():
        for tier in reversed(left[: named + 1]):
            part = min(amount, tier.get(kind, 0))
            tier[kind] = tier.get(kind, 0) - part
            amount -= part
    return named
