"""The policy of the incumbent (AXLearn): rank all jobs anew each time, and stop those that rank too low. Pure.

Shares are weights, normalised over the projects that have one of a kind. The project whose next job gives the
smallest ratio of use to quota goes next; a job that does not fit is skipped. The policy ignores what runs already: a
new job may take a running job's place or tier at once, without delay, and no room is kept for a job that waits. It
ignores classes, worst tiers, limits, past use and checkpoints. It does not know partitions either: settings that have
any are refused with this policy.

The ranking is computed only as far as it matters: once none of the jobs that are left fits, no other job starts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from heapq import heapify, heappop, heapreplace, merge
from itertools import accumulate
from operator import itemgetter
from typing import NamedTuple

from ..demand import PolicySettings, Schedule, Start, Stop
from ..project_work import Work
from ..quota import Quota
from ..resources import Resources, minus, plus, total
from ..shares import Demand, amounts
from ..tiers import Capacity, take
from .index import Place, WantIndex, WorkClass
from .interface import Past
from .reasons import impossible

Shares = Mapping[str, Mapping[str, Fraction]]

LEAST = 1e-8  # the quota of a project that has none: it avoids a division by 0


class AxlearnJob(NamedTuple):
    """One job, or one task of a job, as the incumbent sees it. The jobs of a user sort in the order of their turn.

    priority: the priority; the smallest goes first.
    created: the place of the job in the journal; it breaks ties.
    job: the id of the job; it breaks the ties that are left.
    waits: True if the task waits to start. Of an array, running tasks go before waiting ones.
    task: the number of the task.
    project: the project of the job.
    user: the user of the job.
    demand: the (kind, units) rows of one task.
    """

    priority: int
    created: int
    job: str
    waits: bool
    task: int
    project: str
    user: str
    demand: Demand


def quotas(shares: Shares, capacity: Resources) -> dict[str, dict[str, float]]:
    """Return the quota of each project, by kind: its weight divided by all weights, times the capacity.

    The arithmetic uses floats in this order, as the incumbent does: where ratios are equal, the last bit decides.
    """
    weights: dict[str, float] = defaultdict(float)
    for row in shares.values():
        for kind, share in row.items():
            weights[kind] += float(share)
    return {
        project: {kind: float(share) / max(weights[kind], LEAST) * capacity.get(kind, 0) for kind, share in row.items()}
        for project, row in shares.items()
    }


def queues(index: WantIndex, capacity: Sequence[Resources]) -> dict[str, Iterator[AxlearnJob]]:
    """Return the order inside each project of all that runs and waits."""
    whole = total(capacity)
    return {project: queue(_users(index, project, whole)) for project in {*index.work_classes, *index.of}}


def queue(users: Iterable[Iterable[AxlearnJob]]) -> Iterator[AxlearnJob]:
    """Yield the jobs of one project in order: priority, what the user already has in the queue, age, name.

    `users` gives the jobs of each user in the user's own order.
    """
    heap: list[tuple[int, int, AxlearnJob, Iterator[AxlearnJob]]] = []
    for row in users:
        rest = iter(row)
        heap += [(job.priority, 0, job, rest) for job in (next(rest, None),) if job]
    heapify(heap)
    while heap:
        _, queued, job, rest = heap[0]
        yield job
        if len(heap) == 1:
            yield from rest
            return
        following = next(rest, None)
        if following is None:
            heappop(heap)
        else:
            queued += sum(amount for _, amount in job.demand)
            heapreplace(heap, (following.priority, queued, following, rest))


class Ranking:
    """All jobs in the global order, each with the tier that it is admitted to, or None. It can be iterated only once.

    `queues` are the orders of the projects. `left` is what the jobs admitted so far leave of the capacity, and `admitted`
    is the number of these jobs.
    """

    def __init__(self, queues: Mapping[str, Iterable[AxlearnJob]], tiers: Sequence[Resources], shares: Shares) -> None:
        self.left, self.admitted = total(tiers), 0
        self._capacity = dict(self.left)
        self._tiers = [dict(tier) for tier in tiers] if len(tiers) > 1 else []
        self._queues = queues
        self._quotas = {
            project: {kind: max(quota, LEAST) for kind, quota in row.items()}
            for project, row in quotas(shares, self._capacity).items()
        }
        self._used: dict[str, dict[str, int]] = {project: {} for project in queues}

    def __iter__(self) -> Iterator[tuple[AxlearnJob, int | None]]:
        heap = []
        for row in self._queues.values():
            rest = self._schedulable_first(row)
            heap += [(*self._turn(job), rest) for job in (next(rest, None),) if job]
        heapify(heap)
        while heap:
            *_, job, rest = heap[0]
            yield job, self._admit(job) if _fits(job.demand, self.left) else None
            following = next(rest, None)
            if following is None:
                heappop(heap)
            else:
                heapreplace(heap, (*self._turn(following), rest))

    def _schedulable_first(self, jobs: Iterable[AxlearnJob]) -> Iterator[AxlearnJob]:
        """Yield the jobs of a project in order, but the jobs that can never fit at the end."""
        late = []
        for job in jobs:
            if _fits(job.demand, self._capacity):
                yield job
            else:
                late.append(job)
        yield from late

    def _turn(self, job: AxlearnJob) -> tuple[float, int, str, AxlearnJob]:
        """Return the sort key of a job: the largest ratio of use to quota after this job. The smaller goes first."""
        used, row, worst = self._used[job.project], self._quotas.get(job.project, {}), 0.0
        for kind, amount in job.demand:
            ratio = (used.get(kind, 0) + amount) / row.get(kind, LEAST)
            if ratio > worst:
                worst = ratio
        return worst, job.created, job.project, job

    def _admit(self, job: AxlearnJob) -> int:
        used = self._used[job.project]
        for kind, amount in job.demand:
            self.left[kind] -= amount
            used[kind] = used.get(kind, 0) + amount
        self.admitted += 1
        return take(self._tiers, job.demand) if self._tiers else 0


def schedule(
    *,
    index: WantIndex,
    reclaims: tuple[str, ...],
    quota: Quota,
    capacity: Capacity,
    past: Past,
    work: Work,
    now: datetime,
    settings: PolicySettings,
) -> Schedule:
    """Decide by the incumbent's policy: start what is admitted and does not run, stop what runs and is not admitted.

    Only what is free now is given away: a job that takes a running job's place or tier starts when that one is gone.
    `reclaims`, `past`, `now` and `settings` are ignored.
    """
    ranking = Ranking(queues(index, capacity.tiers), capacity.tiers, quota.shares)
    seats = _Seats(index, capacity.tiers, ranking)
    for job, tier in ranking:
        seats.settle(job, tier)
        if tier is None and not seats.may_fit():
            break
    seats.close()
    starts = tuple(seats.starts)
    return Schedule(
        starts=starts, stops=tuple(seats.stops), tell=lambda: _reasons(index, quota, capacity.tiers, starts)
    )


class _Seats:
    """The starts and stops that follow from the ranking and from what runs."""

    def __init__(self, index: WantIndex, capacity: Sequence[Resources], ranking: Ranking) -> None:
        self._capacity, self._ranking, self._wants = total(capacity), ranking, index.wants
        self._running = {name: hold for name, hold in index.holds.items() if not hold.stopping}
        self._free = _free(index, capacity)
        self._left = Counter(amounts(hold.demand) for hold in self._running.values())
        for work_classes in index.work_classes.values():
            for work_class in work_classes.values():
                self._left[work_class.demand] += work_class.tasks
        self._open, self._known = list(self._left), -1
        self.starts: list[Start] = []
        self.stops: list[Stop] = []

    def settle(self, job: AxlearnJob, tier: int | None) -> None:
        """Turn the rank of one job into a start or a stop. `tier` is None if the job was not admitted."""
        self._left[job.demand] -= 1
        if job.waits:
            if tier is not None and all(_fits(job.demand, free) for free in self._free[tier:]):
                self._start(job, tier)
            return
        hold = self._running.pop((job.job, job.task))
        if tier is None:
            self._stop(job.job, job.task, job.demand)
        elif tier != hold.tier:
            self.stops.append(Stop(job.job, job.task, None, f"moves from tier {hold.tier} to tier {tier}"))

    def may_fit(self) -> bool:
        """Return True if any job that is not ranked yet fits in what is left."""
        if self._known != self._ranking.admitted:
            self._known = self._ranking.admitted
            self._open = [demand for demand in self._open if self._left[demand] and _fits(demand, self._ranking.left)]
        return bool(self._open)

    def close(self) -> None:
        """Stop all that runs and was not ranked: nothing fits any more."""
        for name in sorted(self._running):
            self._stop(*name, amounts(self._running[name].demand))

    def _start(self, job: AxlearnJob, tier: int) -> None:
        for free in self._free[tier:]:
            for kind, amount in job.demand:
                free[kind] -= amount
        self.starts.append(Start(job.job, tier, choice=self._wants[job.job].choice))

    def _stop(self, job: str, task: int, demand: Demand) -> None:
        self.stops.append(Stop(job, task, None, _behind(demand, self._ranking, self._capacity)))


def _free(index: WantIndex, capacity: Sequence[Resources]) -> list[dict[str, int]]:
    """Return for each tier what it and all better tiers have left together, after all that is held."""
    last = len(capacity) - 1
    free = [
        minus(tier, total(index.named[n] for n in index.named if min(n, last) == at))
        for at, tier in enumerate(capacity)
    ]
    return list(accumulate(free, plus))


def _users(index: WantIndex, project: str, capacity: Resources) -> Iterator[Iterable[AxlearnJob]]:
    """Yield the jobs of each user, in order."""
    rows: dict[str, list[Iterable[AxlearnJob]]] = defaultdict(list)
    running: dict[str, list[AxlearnJob]] = defaultdict(list)
    for (job, task), hold in index.of.get(project, {}).items():
        if not hold.stopping:
            demand = amounts(hold.demand)
            running[hold.user].append(
                AxlearnJob(hold.priority, hold.order, job, False, task, project, hold.user, demand)
            )
    for user, jobs in running.items():
        rows[user].append(sorted(jobs))
    for work_class in index.work_classes.get(project, {}).values():
        most = max(
            1, min((capacity.get(kind, 0) // amount for kind, amount in work_class.demand), default=work_class.tasks)
        )
        for user, places in work_class.users.items():
            rows[user].append(_waiting(index, work_class, user, places, most))
    for several in rows.values():
        yield merge(*several) if len(several) > 1 else several[0]


def _waiting(
    index: WantIndex, work_class: WorkClass, user: str, places: Sequence[Place], most: int
) -> Iterator[AxlearnJob]:
    """Yield the tasks that wait, but of an array no more than the capacity could ever hold (`most`)."""
    if places[0][0] != places[-1][0]:
        places = sorted(places, key=itemgetter(1, 2, 3))  # this policy ignores classes
    for _, priority, order, job in places:
        for task in range(min(index.wants[job].count, most)):
            yield AxlearnJob(priority, order, job, True, task, work_class.project, user, work_class.demand)


def _reasons(index: WantIndex, quota: Quota, capacity: Sequence[Resources], starts: Iterable[Start]) -> dict[str, str]:
    """Return a line for every job with tasks that still wait. This goes through the whole ranking again."""
    ranking, whole, started = (
        Ranking(queues(index, capacity), capacity, quota.shares),
        total(capacity),
        Counter(start.job for start in starts),
    )
    reasons: dict[str, str] = {}
    for job, tier in ranking:
        if not job.waits or job.job in reasons:
            continue
        if tier is None:
            reasons[job.job] = impossible(job.demand, [whole]) or _behind(job.demand, ranking, whole)
        elif started[job.job]:
            started[job.job] -= 1
        else:
            reasons[job.job] = "its turn has come; it starts when the stopping attempts are gone"
    return reasons


def _behind(demand: Demand, ranking: Ranking, capacity: Resources) -> str:
    left = ranking.left
    kind, amount = max(demand, key=lambda row: (row[1] - left.get(row[0], 0), row[0]))
    return (
        f"needs {amount} {kind}; {left.get(kind, 0)} of {capacity.get(kind, 0)} left by {ranking.admitted} tasks ahead"
    )


def _fits(demand: Demand, left: Resources) -> bool:
    for kind, amount in demand:  # noqa: SIM110 - asked for every task, and a loop is twice as fast
        if amount > left.get(kind, 0):
            return False
    return True
