"""What hypothesis draws for the laws of overtaken jobs: streams that never end, and one job that comes into them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import strategies as st

from bastion.quota.policy.overtaken import FULL, PATIENCE
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from tests.unit.quota.policy.drive import Fleet, Job

TICK, PATIENCE_S = 60, 3_600


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
        return Fleet(self.limits, coming, tick=TICK, patience=PATIENCE_S, remembers=True)


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
        at=TICK * draw(st.sampled_from((0, 5, 10, 20) if user == "x" else (0, 10, 60, 120))),
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
    """Of a project that asks for more of a kind than it is promised."""
    lasts, size = draw(st.sampled_from((300, 600, 900))), draw(st.sampled_from((1, 1, 2)))
    room = limits.total()[kind] / len(limits.shares)
    every = lasts * size / room / draw(st.sampled_from((1.1, 1.5, 2.0)))
    worst = draw(st.sampled_from((None, 0, 1))) if len(limits.tiers) == 2 and project == "a" else None
    return Flow(project=project, demand={kind: size}, every=every, lasts=lasts, users=users, max_tier=worst)
