"""What hypothesis draws for the laws of the scheduler: quotas, jobs, and lives of whole fleets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf

from hypothesis import strategies as st

from bastion.quota.demand import STANDARD
from bastion.quota.policy.overtaken import FULL, PATIENCE
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from tests.unit.quota.policy.drive import Fleet, Job

PROJECTS = ("a", "a", "b", "b", "c", "none")  # the last one has no share of anything
KINDS = ("v4", "cpu")
TICK = 30
GRACE_MAX = 60
PATIENCE_S = 3_600


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


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Jobs of a project that come one after the other and never end to come."""

    project: str = "a"
    demand: Resources
    every: float
    lasts: float
    users: str = "x"
    max_tier: int | None = None

    def jobs(self, name: str, until: float) -> list[Job]:
        return [
            Job(
                name=f"{name}-{number}",
                project=self.project,
                user=self.users[number % len(self.users)],
                demand=self.demand,
                at=number * self.every,
                lasts=self.lasts,
                max_tier=self.max_tier,
            )
            for number in range(int(until / self.every))
        ]


@dataclass(frozen=True, kw_only=True)
class Crowd:
    """Flows, and the job that comes into them."""

    limits: Quota
    flows: list[Flow]
    job: Job

    @property
    def longest(self) -> float:
        return max(flow.lasts for flow in self.flows)

    @property
    def limit(self) -> float:
        """For how long the job may be overtaken: so much for `FULL` of its share, and in proportion less."""
        share = self.limits.total()["v4"] / len(self.limits.shares)
        asked = max(amount for kind, amount in self.job.demand.items() if kind in self.limits.shares["a"])
        return PATIENCE * PATIENCE_S * min(1, asked / share / FULL)

    def fleet(self, until: float, *more: Job) -> Fleet:
        jobs = [job for number, flow in enumerate(self.flows) for job in flow.jobs(f"f{number}", until)]
        coming = [*jobs, self.job, *more]
        return Fleet(self.limits, coming, tick=2 * TICK, patience=PATIENCE_S, remembers=True)


@st.composite
def crowds(draw: st.DrawFn) -> Crowd:
    """One project or two that both ask for more than their share; of one kind or two; in one tier or two.

    With two projects each kind has shares, and the other one insists on no tier: shares promise nothing else, so it might
    take all of that.
    """
    two, tiers = draw(st.booleans()), draw(st.sampled_from((1, 1, 2)))
    units = draw(st.sampled_from((4, 5, 6, 7, 8, 10, 24))) * (1 + two)
    kinds = draw(st.sampled_from((("v4",), ("v4",), ("v4", "cpu"))))
    governed = kinds if two or draw(st.booleans()) else ("v4",)
    shares = {name: dict.fromkeys(governed, Fraction(1, 1 + two)) for name in ("ab" if two else "a")}
    limits = Quota(tiers=tuple(dict.fromkeys(kinds, units) for _ in range(tiers)), shares=shares)
    users = draw(st.sampled_from(("x", "xy", "xxyz")))
    user = draw(st.sampled_from("xw"))
    job = Job(
        name="job",
        project="a",
        user=user,
        demand={
            kind: draw(st.integers(1, units // (1 + two))) for kind in kinds if kind == "v4" or draw(st.booleans())
        },
        at=2 * TICK * draw(st.sampled_from((0, 5, 10, 20) if user == "x" else (0, 10, 60, 120))),
        lasts=600,
        max_tier=draw(st.sampled_from((None, 0))) if tiers == 2 else None,
    )
    flows = [draw(flows_of(limits, name, kind, users)) for name in shares for kind in kinds]
    if draw(st.booleans()):
        large = draw(st.integers(1, units // (1 + two)))
        flows.append(Flow(demand={"v4": large}, every=draw(st.sampled_from((600, 1_200))), lasts=300, users=users[:1]))
    return Crowd(limits=limits, flows=flows, job=job)


@st.composite
def flows_of(draw: st.DrawFn, limits: Quota, project: str, kind: str, users: str) -> Flow:
    """A flow of a project that asks for more of a kind than it is promised."""
    lasts, size = draw(st.sampled_from((300, 600, 900))), draw(st.sampled_from((1, 1, 2)))
    room = limits.total()[kind] / len(limits.shares)
    every = lasts * size / room / draw(st.sampled_from((1.1, 1.5, 2.0)))
    worst = draw(st.sampled_from((None, 0, 1))) if len(limits.tiers) == 2 and project == "a" else None
    return Flow(project=project, demand={kind: size}, every=every, lasts=lasts, users=users, max_tier=worst)
