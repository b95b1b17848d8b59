"""The incumbent's policy decides whatever can be drawn as the naive restatement of the incumbent's order does."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from bastion.quota.demand import Holding, Schedule
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, minus, total
from tests.unit.quota.policy import incumbent
from tests.unit.quota.policy.fleet import NOW, ago, decide
from tests.unit.quota.policy.incumbent import Job, Verdict
from tests.unit.quota.policy.ranked import Weights, as_shares, as_want, ranked

Drawn = tuple[list[Job], list[Resources], Weights]
SETS = 500  # of jobs, for each of the seeds


def drawn(random: Random) -> Drawn:
    """Several types, tiers, projects and users; many ties; jobs larger than the pool; shares that are floats."""
    kinds = ("v4", "v5", "cpu")[: random.choice((1, 1, 2, 3))]
    tiers: list[Resources] = [
        {kind: random.randint(0, 16) for kind in kinds if random.random() < 0.8}
        for _ in range(random.choice((1, 1, 2, 3)))
    ]
    weights = {
        project: {kind: random.choice((0, 0.0001, 0.1, 0.2, 0.25, 0.3, 0.333, 0.5, 1)) for kind in kinds}
        for project in "abcd"
        if random.random() < 0.8
    }
    jobs = [
        Job(
            name=f"j{random.randint(0, 99):02}-{number}",
            project=random.choice("abcde"),
            user=random.choice("xyz"),
            demand={
                kind: random.choice((1, 1, 2, 3, 4, 8, 30))
                for kind in (*kinds, "unknown")
                if random.random() < (0.03 if kind == "unknown" else 0.7)
            },
            priority=random.randint(1, 3),
            created=random.randint(0, 5),
        )
        for number in range(random.randint(0, 20))
    ]
    return jobs, tiers, weights


def asked(sample: Drawn, holds: list[Holding]) -> Schedule:
    jobs, tiers, weights = sample
    running = {row.job for row in holds}
    limits = Quota(tiers=tuple(tiers), shares=as_shares(weights))
    return decide(
        limits, wants=[as_want(job) for job in jobs if job.name not in running], holds=holds, policy="axlearn"
    )


@pytest.mark.parametrize("seed", range(6))
def test_all_jobs_are_in_the_same_order_with_the_same_verdicts_and_tiers(seed: int) -> None:
    random = Random(seed)
    for _ in range(SETS):
        jobs, tiers, weights = drawn(random)
        assert ranked(jobs, tiers, weights) == incumbent.rank(jobs, tiers, weights)


@pytest.mark.parametrize("seed", range(6))
def test_behind_the_seam_just_those_run_that_are_admitted_and_in_their_tier(seed: int) -> None:
    """Some of the jobs run before the decision, in some tier."""
    random = Random(seed)
    for _ in range(SETS):
        sample = jobs, tiers, weights = drawn(random)
        verdicts = incumbent.rank(jobs, tiers, weights)
        holds = running(random, jobs, tiers)
        answer = asked(sample, holds)
        tier = dict(verdicts)
        assert {stop.job for stop in answer.stops} == {row.job for row in holds if tier[row.job] != row.tier}
        starts = [(start.job, start.tier) for start in answer.starts]
        assert starts == startable(verdicts, jobs, holds, tiers)


def running(random: Random, jobs: list[Job], tiers: list[Resources]) -> list[Holding]:
    """Some of the jobs, as they could run: none of the tiers holds more than it has."""
    holds: list[Holding] = []
    for job in random.sample(jobs, len(jobs)):
        tier = random.randrange(len(tiers))
        if random.random() < 0.6 and has_room(job.demand, tier, holds, tiers):
            holds.append(hold_of(job, tier))
    return holds


def hold_of(job: Job, tier: int) -> Holding:
    want = as_want(job)
    return Holding(
        job=job.name,
        project=job.project,
        user=job.user,
        demand=job.demand,
        priority=job.priority,
        order=want.order,
        since=NOW,
        tier=tier,
    )


def has_room(demand: Resources, tier: int, holds: list[Holding], tiers: list[Resources]) -> bool:
    """True if each tier from this one on has room, with the better ones, for what is named after them."""
    return all(
        fits(demand, minus(total(tiers[: last + 1]), total(row.demand for row in holds if row.tier <= last)))
        for last in range(tier, len(tiers))
    )


def startable(verdicts: list[Verdict], jobs: list[Job], holds: list[Holding], tiers: list[Resources]) -> list[Verdict]:
    """Of those that are admitted and do not run, in their order, the ones for which there is room now."""
    named, taken, found = {job.name: job for job in jobs}, list(holds), list[Verdict]()
    for name, tier in verdicts:
        if (
            tier is not None
            and name not in {row.job for row in holds}
            and has_room(named[name].demand, tier, taken, tiers)
        ):
            found.append((name, tier))
            taken.append(hold_of(named[name], tier))
    return found


def test_what_the_incumbent_does_not_know_changes_nothing() -> None:
    """Classes, worst tiers, time limits, past stops, checkpoints, limits of users."""
    random = Random(0)
    for _ in range(SETS):
        jobs, tiers, weights = drawn(random)
        holds = running(random, jobs, tiers)
        wants = [as_want(job) for job in jobs if job.name not in {row.job for row in holds}]
        limits = Quota(tiers=tuple(tiers), shares=as_shares(weights))
        plain = decide(limits, wants=wants, holds=holds, policy="axlearn")
        odd_wants = [
            replace(
                want,
                job_class=random.randrange(3),
                max_tier=random.choice((None, 0, 1)),
                time_limit_s=random.choice((None, 60.0)),
                stops=random.randrange(9),
                since=ago(random.randrange(9999)),
            )
            for want in wants
        ]
        odd_holds = [
            replace(
                hold,
                job_class=random.randrange(3),
                max_tier=random.choice((None, 0, 1)),
                saved=random.choice((None, NOW)),
                stops=random.randrange(9),
                since=ago(random.randrange(9999)),
                until=random.choice((None, NOW)),
            )
            for hold in holds
        ]
        odd = Quota(
            tiers=limits.tiers,
            shares=limits.shares,
            classes={"a": ("urgent",)},
            user_limits={project: dict.fromkeys(("v4", "v5", "cpu"), 1) for project in "abcde"},
        )
        asked_oddly = decide(odd, wants=odd_wants, holds=odd_holds, reclaims=("j",), delay=0, policy="axlearn")
        assert asked_oddly == plain
        assert asked_oddly.reasons == plain.reasons
