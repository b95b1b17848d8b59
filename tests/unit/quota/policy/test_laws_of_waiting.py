"""Laws of overtaken jobs: whoever waits starts in bounded time, and who asks for less waits no longer for it.

Each fleet has a stream of jobs that never ends. The recount of who overtook whom is naive: it adds up what runs, tick by tick.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bastion.quota.demand import OVERTAKEN
from bastion.quota.policy.index import WantIndex
from bastion.quota.policy.overtaken import PART
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources
from tests.depth import examples
from tests.unit.quota.policy.draws import TICK, Crowd, Flow, Life, crowds, lives_of_one_size
from tests.unit.quota.policy.drive import Fleet, Job
from tests.unit.quota.policy.seen import steps

LAW = settings(max_examples=examples(40), derandomize=True, deadline=None)
SLACK = 360
"""The time until others were stopped and are gone, and four ticks."""


@dataclass
class Recount:
    """The work of a project since a job waits, and the part of it that jobs before this one did.

    Both are counted by kind, and twice: the work of what started since then, and all work. Nobody who started since then is
    before the job of a light user.

    rights: some of what it used had started by the right of who was overtaken for too long.
    """

    job: str
    light: bool
    used: Counter[tuple[str, bool]] = field(default_factory=Counter)
    before: Counter[tuple[str, bool]] = field(default_factory=Counter)
    rights: bool = False

    def passes(self, fleet: Fleet) -> None:
        """One tick goes by, and all goes on that runs now."""
        job = fleet.jobs[self.job]
        for row in fleet.holds.values():
            if row.project == job.project:
                self.rights |= row.overdue
                is_new = row.since > fleet.time(fleet.waiting[job.name].since)
                parts = {(kind, part): units for kind, units in row.demand.items() for part in {is_new, False}}
                self.used.update(parts)
                if fleet.order[row.job] < fleet.order[job.name]:
                    self.before.update(parts)

    def part_before(self) -> float:
        """The part of the project's work that jobs before this one did: the largest of all kinds and ways to count."""
        if self.light:
            return 0.0
        return max((self.before[row] / used for row, used in self.used.items() if used), default=1.0)


def crowd(*flows: Flow, **job: Any) -> Crowd:
    """Of one project with one tier of 8 of each kind."""
    limits = Quota(tiers=({"v4": 8, "cpu": 8},), shares={"a": {"v4": Fraction(1)}})
    return Crowd(
        limits=limits, flows=list(flows), job=Job(**{"name": "job", "project": "a", "at": 600, "lasts": 600, **job})
    )


V4, CPU = {"v4": 1}, {"cpu": 1}
TWO_KINDS = crowd(
    Flow(demand=V4, every=90, lasts=900), Flow(demand=CPU, every=30, lasts=300), user="x", demand={"v4": 8, "cpu": 8}
)
"""When enough of one kind is free, nothing of it may go to others while the other kind is awaited."""

THE_OTHER_KIND = crowd(Flow(demand=CPU, every=60, lasts=600), user="x", demand={"v4": 5, "cpu": 4})
"""Nobody overtakes it in the kind of which it asks for most."""

BETTER_TIERS = replace(
    crowd(Flow(demand=V4, every=60, lasts=600), user="x", demand={"v4": 4}, max_tier=0),
    limits=Quota(tiers=({"v4": 4}, {"v4": 4}), shares={"a": {"v4": Fraction(1)}}),
)
"""What starts in the worse tier is moved to the better one as soon as something is idle there."""

LARGE_JUNIORS = replace(
    crowd(Flow(demand=V4, every=30, lasts=600), user="x", demand={"v4": 4}, at=7_200),
    limits=Quota(tiers=({"v4": 8},), shares={"a": {"v4": Fraction(1)}}),
)
"""Everybody waits for so long that others are overdue, too: the pool is so small that a unit is large."""


@LAW
@given(crowds())
@example(TWO_KINDS)
@example(THE_OTHER_KIND)
@example(BETTER_TIERS)
@example(LARGE_JUNIORS)
def test_whoever_waits_starts_in_bounded_time(crowd: Crowd) -> None:
    """A job waits for at most its limit and the time of its seniors.

    The time of its seniors is the part of its wait that is to all of it as their work is to all work of its project. A light
    user has no seniors. The wait may be longer: if others of the project had such a right meanwhile, up to the time of the
    seniors by 1 - `PART`; with three users, of whom one may be heavy, up to three times that time.

    Each senior that waits may take one tick more, since a decision makes one reservation for a project. Then the job waits
    until what runs of its project has ended, and some ticks.
    """
    users = {user for flow in crowd.flows for user in flow.users}
    fleet, recount, since = crowd.fleet(40_000), Recount("job", crowd.job.user not in users), crowd.job.at
    ahead = 0
    for _ in fleet.until(40_000):
        if fleet.now < since:
            continue
        if "job" not in fleet.waiting:
            return
        waited = fleet.now - since
        if not waited and not recount.light:
            ahead = 2 * TICK * sum(fleet.order[name] < fleet.order["job"] for name in fleet.waiting)
        seniors = waited * recount.part_before()
        times = max(1 / (1 - PART) if recount.rights else 1, len(users) if len(users) > 2 else 1)
        assert waited <= max(crowd.limit + seniors, times * seniors) + ahead + crowd.longest + SLACK
        recount.passes(fleet)
    raise AssertionError("it never starts")


@pytest.mark.parametrize(
    ("demand", "max_tier"),
    [({"v4": 6}, 0), ({"v4": 1, "cpu": 100}, None), ({"v4": 1, "gpu": 1}, None), ({"v4": 9}, None)],
)
def test_who_can_never_start_holds_nobody_back(demand: Resources, max_tier: int | None) -> None:
    limits = Quota(tiers=({"v4": 4, "cpu": 8}, {"v4": 4}), shares={"a": {"v4": Fraction(1)}})
    job = Job(name="job", project="a", user="x", demand=demand, max_tier=max_tier)
    fleet = Crowd(limits=limits, flows=[Flow(demand=V4, every=60, lasts=600)], job=job).fleet(12_000)
    for moment in fleet.until(12_000):
        assert not moment.answer.reservations
    assert fleet.held("a") == 8


@LAW
@given(crowds(), st.integers(0, 8))
def test_who_asks_for_less_has_the_right_no_later_and_starts_no_later(crowd: Crowd, more: int) -> None:
    """Of two jobs of one user that come together, the smaller one first.

    While both wait, the smaller one has no larger limit; and if they ask for one kind, it is overtaken for no shorter time.
    Of several kinds each job counts those that it finds too little of, which may be others.
    """
    demand = {kind: amount + more for kind, amount in crowd.job.demand.items()}
    fleet = crowd.fleet(9_000, replace(crowd.job, name="large", demand=demand))
    for moment in fleet.until(9_000):
        if fleet.now >= crowd.job.at and "job" not in fleet.waiting:
            return
        assert "large" in fleet.waiting or fleet.now < crowd.job.at
        one, other = moment.answer.overtaken("job"), moment.answer.overtaken("large")
        if other is not None:
            assert one is not None
            assert one.limit_s <= other.limit_s
            assert one.overtaken_s >= other.overtaken_s or len(demand) > 1


@settings(LAW, max_examples=examples(20))
@given(lives_of_one_size())
def test_where_all_ask_for_the_same_the_older_rules_decide_the_same(life: Life) -> None:
    for _, moment in steps(life):
        index = WantIndex.of_all(moment.wants, moment.holds)
        before = moment.ask(index, rules=OVERTAKEN - 1)
        assert before == moment.answer
        assert before.reasons == moment.ask(index).reasons
        assert not moment.answer.reservations
