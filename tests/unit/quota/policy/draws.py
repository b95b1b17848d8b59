"""What hypothesis draws for the laws of the scheduler: quotas, jobs, and lives of whole fleets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from hypothesis import strategies as st

from bastion.quota.demand import STANDARD
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from tests.unit.quota.policy.drive import Fleet, Job

PROJECTS = ("a", "a", "b", "b", "c", "none")  # the last one has no share of anything
KINDS = ("v4", "cpu")
TICK = 30
GRACE_MAX = 60


def sizes(most: int) -> st.SearchStrategy[dict[str, int]]:
    """Of v4 something, of cpu perhaps."""
    return st.fixed_dictionaries({"v4": st.integers(1, most)}, optional={"cpu": st.integers(0, most)})


@st.composite
def quotas(draw: st.DrawFn) -> Quota:
    """Of one tier or two, and most kinds somebody's."""
    tiers = [{"v4": draw(st.integers(4, 12)), "cpu": draw(st.integers(0, 12))}]
    if draw(st.booleans()):
        tiers.append(draw(sizes(8)))
    shares: dict[str, dict[str, Fraction]] = {"a": {}, "b": {}, "c": {}}
    for kind in KINDS:
        weights = draw(st.lists(st.integers(0, 4), min_size=3, max_size=3))
        if draw(st.sampled_from((True, True, True, False))):  # else the kind is nobody's
            for project, weight in zip(shares, weights, strict=True):
                shares[project][kind] = Fraction(weight, max(1, sum(weights)))
    limited = draw(st.sampled_from((False, False, True)))
    user_limits = {"a": {"v4": draw(st.integers(1, 8))}} if limited else {}
    return Quota(tiers=tuple(tiers), shares=shares, user_limits=user_limits)


@st.composite
def plain_quotas(draw: st.DrawFn) -> Quota:
    """Of one tier and one kind: most is b's, which comes later, some a's, and c may own what is left."""
    capacity, parts = draw(st.integers(6, 20)), draw(st.sampled_from(((1, 3, 0), (1, 2, 1), (0, 4, 0))))
    shares = {project: {"v4": Fraction(part, 4)} for project, part in zip("abc", parts, strict=True)}
    return Quota(tiers=({"v4": capacity},), shares=shares)


@dataclass(frozen=True, kw_only=True)
class Life:
    """A fleet to be: its quota, who comes when, and how much of each tier is left when."""

    limits: Quota
    jobs: list[Job]
    delay: float = 90
    patience: float = 8 * 3600
    slow: int = 1  # times as slowly as drawn
    shrinks: tuple[tuple[int, int], ...] = ()  # from which tick on, parts of 4 that are left

    def fleet(self, policy: str = "default") -> Fleet:
        coming = [replace(job, at=job.at * self.slow, lasts=job.lasts * self.slow) for job in self.jobs]
        tick = TICK * self.slow
        return Fleet(self.limits, coming, policy=policy, tick=tick, delay=self.delay, patience=self.patience)

    def capacity(self, tick: int) -> tuple[Resources, ...]:
        parts = next((parts for at, parts in reversed(self.shrinks) if at <= tick), 4)
        return tuple({kind: amount * parts // 4 for kind, amount in tier.items()} for tier in self.limits.tiers)


@st.composite
def jobs(draw: st.DrawFn, number: int) -> Job:
    """Of all sorts."""
    demand = {"v4": draw(st.sampled_from((1, 1, 2, 2, 3, 4, 6, 8)))}
    if draw(st.sampled_from((False, False, True))):
        demand["cpu"] = draw(st.integers(0, 3))
    return Job(
        name=f"j{number}",
        project=draw(st.sampled_from(PROJECTS)),
        user=draw(st.sampled_from("xxy")),
        demand=demand,
        priority=draw(st.sampled_from((2, 2, 2, 1, 3))),
        count=draw(st.sampled_from((1, 1, 1, 4))),
        at=TICK * draw(st.sampled_from((0, 0, 1, 3, 6, 9, 12))),
        lasts=draw(st.sampled_from((60, 300, inf, inf))),
        saves=draw(st.sampled_from((None, 60))),
        grace=draw(st.sampled_from((0, 30, GRACE_MAX))),
        job_class=draw(st.sampled_from((STANDARD, STANDARD, STANDARD, STANDARD - 1, STANDARD + 1))),
        max_tier=draw(st.sampled_from((None, None, None, 0))),
    )


@st.composite
def borrowers(draw: st.DrawFn, number: int) -> Job:
    """What fills the pool before others come."""
    return Job(
        name=f"lent{number}",
        project=draw(st.sampled_from(("a", "a", "c", "none"))),
        user=draw(st.sampled_from("xy")),
        demand={"v4": draw(st.sampled_from((1, 2, 3, 4, 5, 12)))},
        priority=draw(st.sampled_from((2, 3))),
        lasts=draw(st.sampled_from((inf, inf, 300))),
        saves=draw(st.sampled_from((None, 60))),
        grace=draw(st.sampled_from((0, 30, GRACE_MAX))),
    )


@st.composite
def owners(draw: st.DrawFn, number: int) -> Job:
    """What comes then, mostly of a project that owns what was lent."""
    return Job(
        name=f"owned{number}",
        project=draw(st.sampled_from(("b", "b", "b", "a", "c"))),
        user=draw(st.sampled_from("xy")),
        demand={"v4": draw(st.sampled_from((1, 2, 3, 4, 6, 8, 10)))},
        priority=draw(st.sampled_from((2, 2, 1))),
        count=draw(st.sampled_from((1, 1, 1, 2))),
        at=TICK * draw(st.integers(2, 12)),
        lasts=draw(st.sampled_from((60, 300, inf))),
        saves=draw(st.sampled_from((None, 60))),
        grace=draw(st.sampled_from((0, 30, GRACE_MAX))),
    )


@st.composite
def lives(draw: st.DrawFn, *, shrinking: bool = False) -> Life:
    """Half of them are of a pool that was lent, to be taken back; the others of anything."""
    if draw(st.booleans()):
        limits = draw(plain_quotas())
        coming = [draw(borrowers(number)) for number in range(draw(st.integers(4, 7)))]
        coming += [draw(owners(number)) for number in range(draw(st.integers(2, 6)))]
    else:
        limits = draw(quotas())
        coming = [draw(jobs(number)) for number in range(draw(st.integers(6, 12)))]
    shrinks = draw(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 4)), max_size=3)) if shrinking else []
    return Life(
        limits=limits,
        jobs=coming,
        delay=draw(st.sampled_from((0, 90))),
        patience=draw(st.sampled_from((0, 60, 8 * 3600))),
        slow=draw(st.sampled_from((1, 1, 60))),
        shrinks=tuple(sorted(shrinks)),
    )


@dataclass(frozen=True, kw_only=True)
class Stream:
    """Jobs of a kind that come one after the other, all day."""

    project: str
    demand: Resources
    priority: int
    every: float
    lasts: float

    def jobs(self, name: str, seconds: float) -> list[Job]:
        """All that come in so many seconds."""
        return [
            Job(
                name=f"{name}-{number}",
                project=self.project,
                demand=self.demand,
                priority=self.priority,
                at=number * self.every,
                lasts=self.lasts,
            )
            for number in range(int(seconds / self.every))
        ]


streams = st.builds(
    Stream,
    project=st.sampled_from(("a", "b", "b")),
    demand=sizes(4),
    priority=st.sampled_from((2, 1)),
    every=st.sampled_from((300, 600, 1800, 3600)),
    lasts=st.sampled_from((60, 300, 1200)),
)


@st.composite
def lives_of_one_size(draw: st.DrawFn) -> Life:
    """All jobs ask for the same, which is large by no rules, in fleets that are full or nearly so."""
    size = draw(st.integers(1, 3))
    tiers = [{"v4": 40 * size + draw(st.integers(0, 20))}, *draw(st.sampled_from(([], [{"v4": 8}])))]
    parts = draw(st.sampled_from(((1, 3, 0), (1, 2, 1), (0, 4, 0), (1, 1, 1))))
    shares = {project: {"v4": Fraction(part, 4)} for project, part in zip("abc", parts, strict=True)}
    coming = [
        replace(draw(jobs(number)), demand={"v4": size}, count=draw(st.integers(1, 40)))
        for number in range(draw(st.integers(6, 12)))
    ]
    patience, slow = draw(st.sampled_from((0, 60, 3_600))), draw(st.sampled_from((1, 60)))
    return Life(limits=Quota(tiers=tuple(tiers), shares=shares), jobs=coming, patience=patience, slow=slow)
