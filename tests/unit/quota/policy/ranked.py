"""The incumbent's policy asked for its whole order: jobs of the naive restatement in, verdicts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from bastion.quota.demand import Want
from bastion.quota.policy.axlearn import Ranking, queues
from bastion.quota.policy.index import WantIndex
from bastion.quota.resources import Resources
from tests.unit.quota.policy.fleet import NOW
from tests.unit.quota.policy.incumbent import Job, Verdict

Weights = Mapping[str, Mapping[str, float]]


def as_want(job: Job) -> Want:
    return Want(
        job=job.name,
        project=job.project,
        user=job.user,
        demand=job.demand,
        priority=job.priority,
        order=job.created,
        since=NOW,
    )


def as_shares(weights: Weights) -> dict[str, dict[str, Fraction]]:
    return {project: {kind: Fraction(str(share)) for kind, share in row.items()} for project, row in weights.items()}


def ranking_of(jobs: Sequence[Job], tiers: Sequence[Resources], weights: Weights) -> Ranking:
    return Ranking(queues(WantIndex.of_all(map(as_want, jobs), ()), tiers), tiers, as_shares(weights))


def ranked(jobs: Sequence[Job], tiers: Sequence[Resources], weights: Weights) -> list[Verdict]:
    """All jobs in the global order, each with its tier if it runs."""
    return [(job.job, tier) for job, tier in ranking_of(jobs, tiers, weights)]


def order_of(jobs: Sequence[Job]) -> list[str]:
    """The order of the jobs of one project."""
    (queue,) = queues(WantIndex.of_all(map(as_want, jobs), ()), [{"v4": 1}]).values()
    return [job.job for job in queue]
