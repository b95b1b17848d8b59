"""The incumbent's policy: everything is ranked anew each time, and what ranks too low is stopped. Pure.

Shares are weights, normalised over the projects that have one of a kind. The project whose next job gives the
smallest ratio of use to quota goes next; a job that does not fit is skipped. It knows nothing of what runs: a
newcomer may take a running job's place or tier at once, without delay, and nothing is kept for a job that waits.
Classes, worst tiers, limits, past use and checkpoints mean nothing to it. Of walls it knows nothing either: settings that
have any are refused with it.

The ranking is found only as far as it matters: once nothing that is left of it fits, nobody else starts.
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

from ..demand import Knobs, Schedule, Start, Stop
from ..quota import Quota
from ..resources import Resources, minus, plus, total
from ..shares import Demand, amounts
from ..tiers import Capacity, take
from .index import Place, WantIndex, WorkClass
from .interface import Past
from .reasons import impossible

Shares = Mapping[str, Mapping[str, Fraction]]

LEAST = 1e-8  # the quota of who has none


class AxJob(NamedTuple):
    """One job, or one task of a job, as the incumbent sees it; those of a user sort as they stand in the queue.

    `created` breaks ties, then the job's name does. Of an array what runs goes before what `waits`.
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
    """What each project may expect of each kind: its weight among all weights, of what there is.

    In floats and in this order, as the incumbent does it: a last bit decides who goes first where ratios are equal.
    """
    weights: dict[str, float] = defaultdict(float)
    for row in shares.values():
        for kind, share in row.items():
            weights[kind] += float(share)
    return {
        project: {kind: float(share) / max(weights[kind], LEAST) * capacity.get(kind, 0) for kind, share in row.items()}
        for project, row in shares.items()
    }


def queues(board: WantIndex, pool: Sequence[Resources]) -> dict[str, Iterator[AxJob]]:
    """The order inside each project of what runs and what waits."""
    whole = total(pool)
    return {project: queue(_users(board, project, whole)) for project in {*board.lines, *board.of}}


def queue(users: Iterable[Iterable[AxJob]]) -> Iterator[AxJob]:
    """One project's order, of each user's jobs in theirs: priority, what the user has in the queue, age, name."""
    heap: list[tuple[int, int, AxJob, Iterator[AxJob]]] = []
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
    """All jobs in the global order, each with the tier that it is admitted to, or None. It is gone through once.

    `queues` are the orders of the projects. `left` is what those that were admitted so far leave of the pool, and
    `admitted` how many they are.
    """

    def __init__(self, queues: Mapping[str, Iterable[AxJob]], tiers: Sequence[Resources], shares: Shares) -> None:
        self.left, self.admitted = total(tiers), 0
        self._pool = dict(self.left)
        self._tiers = [dict(tier) for tier in tiers] if len(tiers) > 1 else []
        self._queues = queues
        self._quotas = {
            project: {kind: max(quota, LEAST) for kind, quota in row.items()}
            for project, row in quotas(shares, self._pool).items()
        }
        self._used: dict[str, dict[str, int]] = {project: {} for project in queues}

    def __iter__(self) -> Iterator[tuple[AxJob, int | None]]:
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

    def _schedulable_first(self, jobs: Iterable[AxJob]) -> Iterator[AxJob]:
        """A project's order; jobs that never fit go to its end."""
        late = []
        for job in jobs:
            if _fits(job.demand, self._pool):
                yield job
            else:
                late.append(job)
        yield from late

    def _turn(self, job: AxJob) -> tuple[float, int, str, AxJob]:
        """The largest ratio of use to quota after this job: smaller goes first."""
        used, row, worst = self._used[job.project], self._quotas.get(job.project, {}), 0.0
        for kind, amount in job.demand:
            ratio = (used.get(kind, 0) + amount) / row.get(kind, LEAST)
            if ratio > worst:
                worst = ratio
        return worst, job.created, job.project, job

    def _admit(self, job: AxJob) -> int:
        used = self._used[job.project]
        for kind, amount in job.demand:
            self.left[kind] -= amount
            used[kind] = used.get(kind, 0) + amount
        self.admitted += 1
        return take(self._tiers, job.demand) if self._tiers else 0


def schedule(
    *,
    board: WantIndex,
    reclaims: tuple[str, ...],
    quota: Quota,
    pool: Capacity,
    past: Past,
    now: datetime,
    knobs: Knobs,
) -> Schedule:
    """The incumbent's policy behind the seam: start what is admitted and does not run, stop what runs and is not.

    Only what is free now is given away: who takes a running job's place or tier starts when that one is gone.
    `reclaims`, `past`, `now` and `knobs` mean nothing to it.
    """
    ranking = Ranking(queues(board, pool.tiers), pool.tiers, quota.shares)
    seats = _Seats(board, pool.tiers, ranking)
    for job, tier in ranking:
        seats.settle(job, tier)
        if tier is None and not seats.may_fit():
            break
    seats.close()
    starts = tuple(seats.starts)
    return Schedule(starts=starts, stops=tuple(seats.stops), tell=lambda: _reasons(board, quota, pool.tiers, starts))


class _Seats:
    """What runs, set against the verdicts in their order."""

    def __init__(self, board: WantIndex, pool: Sequence[Resources], ranking: Ranking) -> None:
        self._pool, self._ranking, self._wants = total(pool), ranking, board.wants
        self._running = {name: hold for name, hold in board.holds.items() if not hold.stopping}
        self._free = _free(board, pool)
        self._left = Counter(amounts(hold.demand) for hold in self._running.values())
        for lines in board.lines.values():
            for line in lines.values():
                self._left[line.demand] += line.tasks
        self._open, self._known = list(self._left), -1
        self.starts: list[Start] = []
        self.stops: list[Stop] = []

    def settle(self, job: AxJob, tier: int | None) -> None:
        """Turn one verdict into a start or a stop."""
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
        """True if anything that has no verdict yet fits in what is left."""
        if self._known != self._ranking.admitted:
            self._known = self._ranking.admitted
            self._open = [demand for demand in self._open if self._left[demand] and _fits(demand, self._ranking.left)]
        return bool(self._open)

    def close(self) -> None:
        """Nothing fits any more: stop whatever runs and has no verdict."""
        for name in sorted(self._running):
            self._stop(*name, amounts(self._running[name].demand))

    def _start(self, job: AxJob, tier: int) -> None:
        for free in self._free[tier:]:
            for kind, amount in job.demand:
                free[kind] -= amount
        self.starts.append(Start(job.job, tier, choice=self._wants[job.job].choice))

    def _stop(self, job: str, task: int, demand: Demand) -> None:
        self.stops.append(Stop(job, task, None, _behind(demand, self._ranking, self._pool)))


def _free(board: WantIndex, pool: Sequence[Resources]) -> list[dict[str, int]]:
    """For each tier what it and the better ones together have left, of what is held by its name."""
    last = len(pool) - 1
    free = [
        minus(tier, total(board.named[n] for n in board.named if min(n, last) == at)) for at, tier in enumerate(pool)
    ]
    return list(accumulate(free, plus))


def _users(board: WantIndex, project: str, pool: Resources) -> Iterator[Iterable[AxJob]]:
    """The jobs of each user, in order."""
    rows: dict[str, list[Iterable[AxJob]]] = defaultdict(list)
    running: dict[str, list[AxJob]] = defaultdict(list)
    for (job, task), hold in board.of.get(project, {}).items():
        if not hold.stopping:
            demand = amounts(hold.demand)
            running[hold.user].append(AxJob(hold.priority, hold.order, job, False, task, project, hold.user, demand))
    for user, jobs in running.items():
        rows[user].append(sorted(jobs))
    for line in board.lines.get(project, {}).values():
        most = max(1, min((pool.get(kind, 0) // amount for kind, amount in line.demand), default=line.tasks))
        for user, places in line.users.items():
            rows[user].append(_waiting(board, line, user, places, most))
    for several in rows.values():
        yield merge(*several) if len(several) > 1 else several[0]


def _waiting(board: WantIndex, line: WorkClass, user: str, places: Sequence[Place], most: int) -> Iterator[AxJob]:
    """The tasks that wait; of an array no more than the pool could ever hold."""
    if places[0][0] != places[-1][0]:
        places = sorted(places, key=itemgetter(1, 2, 3))  # classes mean nothing here
    for _, priority, order, job in places:
        for task in range(min(board.wants[job].count, most)):
            yield AxJob(priority, order, job, True, task, line.project, user, line.demand)


def _reasons(board: WantIndex, quota: Quota, pool: Sequence[Resources], starts: Iterable[Start]) -> dict[str, str]:
    """A line for every job with tasks that still wait; the whole ranking is gone through for it."""
    ranking, whole, started = (
        Ranking(queues(board, pool), pool, quota.shares),
        total(pool),
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
            reasons[job.job] = "its turn has come; it starts when those that stop are gone"
    return reasons


def _behind(demand: Demand, ranking: Ranking, pool: Resources) -> str:
    left = ranking.left
    kind, amount = max(demand, key=lambda row: (row[1] - left.get(row[0], 0), row[0]))
    return f"needs {amount} {kind}; {left.get(kind, 0)} of {pool.get(kind, 0)} left by {ranking.admitted} tasks ahead"


def _fits(demand: Demand, left: Resources) -> bool:
    for kind, amount in demand:  # noqa: SIM110 - asked for every task, and a loop is twice as fast
        if amount > left.get(kind, 0):
            return False
    return True
