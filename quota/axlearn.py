"""The incumbent's policy: everything is ranked anew each time, and what ranks too low is stopped. Pure.

Shares are weights, normalised over the projects that have one of a kind. The project whose next job gives the
smallest ratio of use to quota goes next; a job that does not fit is skipped. It knows nothing of what runs: a
newcomer may take a running job's place or tier at once, without delay, and nothing is kept for a job that waits.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from heapq import heapify, heappop, heappush

from quota.claims import Hold, Knobs, Schedule, Start, Stop, Want
from quota.model import Quota
from quota.reasons import impossible
from quota.resources import Resources, fits, minus, plus, total
from quota.shares import amounts
from quota.tiers import Tiers, free, take

Shares = Mapping[str, Mapping[str, Fraction]]

LEAST = Fraction(1, 10**8)  # the quota of who has none


@dataclass(frozen=True, slots=True, kw_only=True)
class AxJob:
    """One job, or one task of a job, as the incumbent sees it; `created` breaks ties, then the job's name does."""

    job: str
    project: str
    user: str
    demand: Resources
    priority: int = 5
    created: int = 0
    task: int = 0


@dataclass(frozen=True, slots=True)
class AxVerdict:
    """Whether a job should run, and the tier that it is named after (0 if not)."""

    job: AxJob
    admitted: bool
    tier: int


def quotas(shares: Shares, capacity: Resources) -> dict[str, dict[str, Fraction]]:
    """What each project may expect of each kind: its weight among all weights, of what there is."""
    weights: dict[str, Fraction] = defaultdict(Fraction)
    for row in shares.values():
        for kind, share in row.items():
            weights[kind] += share
    return {
        project: {
            kind: share / weights[kind] * capacity.get(kind, 0) if share else Fraction(0) for kind, share in row.items()
        }
        for project, row in shares.items()
    }


def queue(jobs: Iterable[AxJob], *, fair: bool = True) -> list[AxJob]:
    """One project's order: priority, then what the user already has in the queue (if `fair`), then age, then name."""
    users: dict[str, deque[AxJob]] = defaultdict(deque)
    for job in sorted(jobs, key=lambda job: (job.priority, job.created, job.job, job.task)):
        users[job.user].append(job)
    queued: dict[str, int] = defaultdict(int)
    heap = [_place(row[0], 0) for row in users.values()]
    heapify(heap)
    order = []
    while heap:
        user = heappop(heap)[-1]
        order.append(users[user].popleft())
        queued[user] += sum(order[-1].demand.values()) if fair else 0
        if users[user]:
            heappush(heap, _place(users[user][0], queued[user]))
    return order


def rank(jobs: Iterable[AxJob], tiers: Sequence[Resources], shares: Shares) -> list[AxVerdict]:
    """All jobs in the global order, each with its verdict. `shares` are weights by project and kind."""
    capacity = total(tiers)
    expects = quotas(shares, capacity)
    waiting = _queues(jobs, capacity)
    used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    left = free(tuple(tiers), ())
    heap = [_turn(row[0], used[project], expects.get(project, {})) for project, row in waiting.items()]
    heapify(heap)
    verdicts = []
    while heap:
        project = heappop(heap)[-1]
        job = waiting[project].popleft()
        verdicts.append(_verdict(job, left))
        if verdicts[-1].admitted:
            for kind, amount in job.demand.items():
                used[project][kind] += amount
        if waiting[project]:
            heappush(heap, _turn(waiting[project][0], used[project], expects.get(project, {})))
    return verdicts


def schedule(
    *,
    wants: Iterable[Want],
    holds: Iterable[Hold],
    reclaims: tuple[str, ...],
    quota: Quota,
    pool: tuple[Resources, ...],
    now: datetime,
    knobs: Knobs,
) -> Schedule:
    """The incumbent's policy behind the seam: start what is admitted and does not run, stop what runs and is not.

    Only what is free now is given away: who takes a running job's place starts when that one is gone. `reclaims`,
    `now` and `knobs` mean nothing to it.
    """
    named = {want.job: want for want in wants}
    seats = _Seats(holds, pool)
    jobs = [job for want in named.values() for job in seats.waiting(want)]
    for verdict in rank([*jobs, *seats.running()], pool, quota.shares):
        seats.settle(verdict)
    return Schedule(starts=tuple(seats.starts), stops=tuple(seats.stops), reasons=seats.reasons)


class _Seats:
    """What runs, set against the verdicts in their order."""

    def __init__(self, holds: Iterable[Hold], pool: tuple[Resources, ...]) -> None:
        rows = tuple(holds)
        self._pool = total(pool)
        self._running = {(hold.job, hold.task): hold for hold in rows if not hold.stopping}
        self._next_task = {hold.job: hold.task + 1 for hold in sorted(rows, key=lambda hold: hold.task)}
        self._free = minus(self._pool, total(hold.demand for hold in rows))
        self._granted: dict[str, int] = {}
        self._ahead = 0
        self.starts: list[Start] = []
        self.stops: list[Stop] = []
        self.reasons: dict[str, str] = {}

    def running(self) -> list[AxJob]:
        """The tasks that run."""
        return [_job(hold, hold.task) for hold in self._running.values()]

    def waiting(self, want: Want) -> list[AxJob]:
        """The tasks that wait, numbered after those that run, and no more of them than the pool could ever hold."""
        most = min((self._pool.get(kind, 0) // amount for kind, amount in amounts(want.demand)), default=want.count)
        first = self._next_task.get(want.job, 0)
        return [_job(want, first + number) for number in range(min(want.count, max(1, most)))]

    def settle(self, verdict: AxVerdict) -> None:
        """Turn one verdict into a start, a stop or a reason."""
        job = verdict.job
        hold = self._running.get((job.job, job.task))
        if hold is not None:
            self._settle_running(hold, verdict)
        elif not verdict.admitted:
            self.reasons.setdefault(job.job, impossible(amounts(job.demand), self._pool) or self._behind(job))
        elif fits(job.demand, self._free):
            self._free = minus(self._free, job.demand)
            self.starts.append(Start(job.job, verdict.tier))
        else:
            self.reasons.setdefault(job.job, "its turn has come; it starts when those that stop are gone")
        if verdict.admitted:
            self._granted = plus(self._granted, job.demand)
            self._ahead += 1

    def _settle_running(self, hold: Hold, verdict: AxVerdict) -> None:
        if not verdict.admitted:
            self.stops.append(Stop(hold.job, hold.task, None, self._behind(verdict.job)))
        elif verdict.tier != hold.tier:
            reason = f"moves from tier {hold.tier} to tier {verdict.tier}"
            self.stops.append(Stop(hold.job, hold.task, None, reason))

    def _behind(self, job: AxJob) -> str:
        left = minus(self._pool, self._granted)
        kind, amount = max(job.demand.items(), key=lambda row: (row[1] - left.get(row[0], 0), row[0]))
        return (
            f"needs {amount} {kind}; {left.get(kind, 0)} of {self._pool.get(kind, 0)} left by {self._ahead} tasks ahead"
        )


def _job(row: Want | Hold, task: int) -> AxJob:
    return AxJob(
        job=row.job,
        project=row.project,
        user=row.user,
        demand=row.demand,
        priority=row.priority,
        created=row.order,
        task=task,
    )


def _place(job: AxJob, queued: int) -> tuple[int, int, int, str, int, str]:
    return (job.priority, queued, job.created, job.job, job.task, job.user)


def _queues(jobs: Iterable[AxJob], capacity: Resources) -> dict[str, deque[AxJob]]:
    """The order inside each project; jobs that never fit go to its end."""
    projects: dict[str, list[AxJob]] = defaultdict(list)
    for job in jobs:
        projects[job.project].append(job)
    return {
        project: deque(sorted(queue(row), key=lambda job: not fits(job.demand, capacity)))
        for project, row in projects.items()
    }


def _turn(job: AxJob, used: Resources, expected: Mapping[str, Fraction]) -> tuple[float, int, str]:
    """The largest ratio of use to quota after this job: smaller goes first."""
    floors = {kind: max(expected.get(kind, LEAST), LEAST) for kind in job.demand}
    ratios = (
        (used.get(kind, 0) + amount) * floors[kind].denominator / floors[kind].numerator
        for kind, amount in job.demand.items()
    )
    return (max(ratios, default=0.0), job.created, job.project)


def _verdict(job: AxJob, left: Tiers) -> AxVerdict:
    if not fits(job.demand, total(left)):
        return AxVerdict(job, admitted=False, tier=0)
    return AxVerdict(job, admitted=True, tier=take(left, job.demand.items()))
