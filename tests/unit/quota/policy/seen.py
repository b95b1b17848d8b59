"""What the laws over time see of a fleet, in words of their own: nothing of the policies is used but shares."""

from __future__ import annotations

from collections.abc import Iterator

from bastion.quota.resources import Resources, minus, plus, times, total
from bastion.quota.shares import Shares
from tests.unit.quota.policy.draws import Life
from tests.unit.quota.policy.drive import Fleet, Job, Moment

TICKS = 30


def steps(life: Life, policy: str = "default") -> Iterator[tuple[Fleet, Moment]]:
    """Each step of a life, right after the decision was carried out."""
    fleet = life.fleet(policy)
    for tick in range(TICKS):
        fleet.capacity = life.capacity(tick)
        yield fleet, fleet.step()


def needs(demand: Resources) -> Resources:
    return {kind: amount for kind, amount in demand.items() if amount}


def used(fleet: Fleet, project: str, user: str | None = None) -> Resources:
    """What a project holds, or one of its users."""
    rows = [row for row in fleet.holds.values() if row.project == project and user in (None, row.user)]
    return total(row.demand for row in rows)


def idle(fleet: Fleet, max_tier: int | None = None) -> list[Resources]:
    """What nobody holds: of the tiers up to this one together, and of each longer row of them. A demand has to fit in all."""
    last = len(fleet.capacity) - 1
    return [
        minus(total(fleet.capacity[: end + 1]), total(row.demand for row in fleet.holds.values() if row.tier <= end))
        for end in range(last if max_tier is None else min(last, max_tier), last + 1)
    ]


def is_within(fleet: Fleet, job: Job, count: int = 1) -> bool:
    """True if so many of the job's tasks keep its project within its share."""
    shares = Shares(fleet.limits, total(fleet.capacity))
    return shares.within(job.project, used(fleet, job.project), times(job.demand, count).items())


def is_limited(fleet: Fleet, job: Job, count: int = 1) -> bool:
    """True if so many of the job's tasks are more than its user may hold."""
    asked = plus(used(fleet, job.project, job.user), times(job.demand, count))
    return any(kind in job.demand and asked[kind] > most for kind, most in fleet.limits.user_limit(job.project).items())


def is_light(fleet: Fleet, project: str, user: str) -> bool:
    """True if the user used less than half of the mean of the project's users who wait or hold something."""
    rows = {row.user for row in fleet.holds.values() if row.project == project}
    rows |= {job.user for job in waiting(fleet) if job.project == project}
    return weight(fleet, project, user) < sum(weight(fleet, project, each) for each in rows) / len(rows) / 2


def weight(fleet: Fleet, project: str, user: str) -> float:
    """The use of a user: an hour of what they hold, and what they held so far if the fleet remembers it."""
    whole, held = total(fleet.capacity), used(fleet, project, user)
    now = max((amount / whole[kind] for kind, amount in held.items()), default=0.0)
    hours = [amount / whole[kind] for (*who, kind), amount in fleet.hours.items() if who == [project, user]]
    return now + (max(hours, default=0.0) if fleet.remembers else 0.0)


def is_resting(fleet: Fleet, job: Job) -> bool:
    """True if it was stopped three times, and the pause before it borrows again is not over: four delays, eight ..."""
    tasks = [fleet.tasks[job.name, number] for number in fleet.waiting[job.name].tasks]
    gone = max((task.gone for task in tasks if task.gone is not None), default=None)
    stops = max(len(task.stopped) for task in tasks)
    pause = max(fleet.delay, 90) * 2 ** min(stops - 1, 9)
    return gone is not None and stops >= 3 and fleet.now < gone + pause and not is_within(fleet, job)


def waiting(fleet: Fleet) -> list[Job]:
    """The jobs of which tasks wait."""
    return [fleet.jobs[name] for name in fleet.waiting]
