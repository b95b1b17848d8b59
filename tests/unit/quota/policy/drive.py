"""A fleet that lives by the decisions of a policy, for tests that tell a story or hold a law over many steps.

Time goes in ticks. In each of them what stopped is gone after its grace and waits again, what has run its time ends,
what was submitted waits, and then the policy decides. A task that was stopped goes on later where it was stopped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf

from msgspec.structs import replace

from bastion.quota.demand import RULES, STANDARD, Holding, PolicySettings, Schedule, Stop, Want
from bastion.quota.policy.index import WantIndex
from bastion.quota.policy.interface import Past
from bastion.quota.project_work import ProjectWork, Work
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, minus, total
from tests.unit.quota.policy.fleet import NOW, decide, stopping, work_of

Name = tuple[str, int]  # a task: job, number


@dataclass(frozen=True, kw_only=True)
class Job:
    """What somebody submits `at` so many seconds; each of its tasks runs for `lasts` seconds, saves its work
    each time that it ran for `saves`, and takes `grace` to stop.
    """

    name: str
    project: str
    demand: Resources
    user: str = "ann"
    priority: int = 5
    count: int = 1
    at: float = 0
    lasts: float = inf
    saves: float | None = None
    grace: float = 30
    job_class: int = STANDARD
    max_tier: int | None = None


@dataclass
class Task:
    """How long it still runs, since when it waits and how long before, when it was stopped, and gone after the last stop."""

    left: float
    since: float
    waited: float = 0
    stopped: list[float] = field(default_factory=list)
    gone: float | None = None


@dataclass
class Waiting:
    """The tasks of a job that wait, and since when the job waits."""

    since: float
    tasks: list[int]


@dataclass
class Moment:
    """What a policy is asked, and what it answers."""

    policy: str
    limits: Quota
    wants: list[Want]
    holds: list[Holding]
    reclaims: tuple[str, ...]
    capacity: tuple[Resources, ...]
    now: datetime
    delay: float
    patience: float
    work: Work
    past: Past

    def __post_init__(self) -> None:
        self.answer = self.ask(WantIndex.of_all(self.wants, self.holds))

    def ask(self, index: WantIndex, rules: int = RULES) -> Schedule:
        """The same about another board, or by other rules."""
        return decide(
            self.limits,
            index=index,
            reclaims=self.reclaims,
            capacity=self.capacity,
            delay=self.delay,
            patience=self.patience,
            policy=self.policy,
            now=self.now,
            work=self.work,
            past=self.past,
            rules=rules,
        )

    @property
    def free(self) -> Resources:
        """What is free before the answer is carried out."""
        return minus(total(self.capacity), total(row.demand for row in self.holds))


class Fleet:
    """Holds what runs and who waits; `now` is in seconds since the beginning.

    With `remembers`, what users held counts for ever; else only what they hold.
    """

    def __init__(
        self,
        limits: Quota,
        jobs: Iterable[Job] = (),
        *,
        policy: str = "default",
        tick: float = 30,
        delay: float = 90,
        patience: float = PolicySettings().gang_patience_s,
        remembers: bool = False,
    ) -> None:
        self.limits, self.policy = limits, policy
        self.tick, self.delay, self.patience = tick, delay, patience
        self.capacity: tuple[Resources, ...] = limits.tiers
        self.now = -tick
        self.jobs: dict[str, Job] = {}
        self.order: dict[str, int] = {}
        self.waiting: dict[str, Waiting] = {}
        self.holds: dict[Name, Holding] = {}
        self.gone_at: dict[Name, float] = {}
        self.tasks: dict[Name, Task] = {}
        self.reclaims: dict[str, None] = {}
        self.log: list[tuple[float, Stop]] = []
        self.work: dict[str, ProjectWork] = {}
        self.remembers, self.hours = remembers, defaultdict[tuple[str, str, str], float](float)
        self._coming = sorted(jobs, key=lambda job: job.at)

    def submit(self, *jobs: Job) -> None:
        """More jobs, for the next ticks."""
        self._coming = sorted([*self._coming, *jobs], key=lambda job: job.at)

    def until(self, seconds: float) -> Iterator[Moment]:
        """Tick after tick, up to the moment."""
        while self.now + self.tick <= seconds:
            yield self.step()

    def run(self, seconds: float) -> Fleet:
        """All ticks up to the moment."""
        for _ in self.until(seconds):
            pass
        return self

    def step(self) -> Moment:
        """One tick."""
        before, self.now = self.now, self.now + self.tick
        self._pass(before)
        while self._coming and self._coming[0].at <= self.now:
            self._arrive(self._coming.pop(0))
        moment = self._moment()
        self._stop(moment.answer.stops)
        for move in moment.answer.moves:
            self.holds[move.job, move.task] = replace(self.holds[move.job, move.task], tier=move.tier)
        self._start(moment)
        return moment

    def running(self, prefix: str = "") -> list[str]:
        """The jobs that run and are not being stopped, one name for each task."""
        return sorted(row.job for row in self.holds.values() if row.job.startswith(prefix) and not row.stopping)

    def held(self, project: str) -> int:
        """The units that a project holds."""
        return sum(sum(row.demand.values()) for row in self.holds.values() if row.project == project)

    def stops(self, job: str = "") -> list[float]:
        """When tasks of a job, or of any, were stopped."""
        return [at for at, stop in self.log if job in ("", stop.job)]

    def time(self, seconds: float) -> datetime:
        """The moment as the policy sees it."""
        return NOW + timedelta(seconds=seconds)

    def _pass(self, before: float) -> None:
        for name, row in list(self.holds.items()):
            for kind, amount in row.demand.items():
                self.hours[row.project, row.user, kind] += amount * (self.now - before) / 3600
            task = self.tasks[name]
            if name in self.gone_at:
                if self.gone_at[name] <= self.now:
                    self._work(row, -1)
                    del self.holds[name], self.gone_at[name]
                    waiting = self.waiting.setdefault(row.job, Waiting(self.now, []))
                    waiting.tasks = sorted([*waiting.tasks, row.task])
                    task.gone = task.since = self.now
                continue
            task.left -= self.now - before
            if task.left <= 0:
                self._work(row, -1)
                del self.holds[name]

    def _past(self) -> dict[tuple[str, str], float]:
        """Of each user of a project the part of the capacity times hours, of the kind where that is largest."""
        whole, found = total(self.capacity), dict[tuple[str, str], float]()
        for (project, user, kind), hours in self.hours.items() if self.remembers else ():
            found[project, user] = max(found.get((project, user), 0.0), hours / whole[kind])
        return found

    def _arrive(self, job: Job) -> None:
        self.jobs[job.name], self.order[job.name] = job, len(self.order)
        self.waiting[job.name] = Waiting(self.now, list(range(job.count)))
        self.tasks |= {(job.name, number): Task(job.lasts, self.now) for number in range(job.count)}

    def _moment(self) -> Moment:
        return Moment(
            policy=self.policy,
            limits=self.limits,
            wants=[self._want(name) for name in self.waiting],
            holds=list(self.holds.values()),
            reclaims=tuple(self.reclaims),
            capacity=self.capacity,
            now=self.time(self.now),
            delay=self.delay,
            patience=self.patience,
            work=deepcopy(self.work),
            past=self._past(),
        )

    def _want(self, name: str) -> Want:
        job, waiting = self.jobs[name], self.waiting[name]
        tasks = [self.tasks[name, number] for number in waiting.tasks]
        return Want(
            job=name,
            project=job.project,
            user=job.user,
            demand=job.demand,
            priority=job.priority,
            order=self.order[name],
            since=self.time(waiting.since),
            count=len(waiting.tasks),
            job_class=job.job_class,
            max_tier=job.max_tier,
            stops=max(len(task.stopped) for task in tasks),
            waited_s=max(task.waited for task in tasks),
            stopped=max((self.time(task.gone) for task in tasks if task.gone is not None), default=None),
        )

    def _start(self, moment: Moment) -> None:
        wants = {want.job: want for want in moment.wants}
        for start in moment.answer.starts:
            want, number = wants[start.job], self.waiting[start.job].tasks.pop(0)
            task = self.tasks[start.job, number]
            task.waited += self.now - task.since
            saves = self.jobs[start.job].saves
            self.holds[start.job, number] = Holding(
                job=start.job,
                project=want.project,
                user=want.user,
                demand=want.demand,
                priority=want.priority,
                order=want.order,
                since=self.time(self.now),
                task=number,
                tier=start.tier,
                job_class=want.job_class,
                max_tier=want.max_tier,
                saved=self.time(self.now) if saves else None,
                every_s=saves,
                stops=len(task.stopped),
                overdue=start.overdue,
            )
            self._work(self.holds[start.job, number], +1)
            self.reclaims.pop(start.job, None)
            if not self.waiting[start.job].tasks:
                del self.waiting[start.job]

    def _work(self, row: Holding, sign: int) -> None:
        """What the project gives, as the fold of a journal keeps it."""
        work_of(self.work, row, sign, self.time(self.now))

    def _stop(self, stops: Iterable[Stop]) -> None:
        for stop in stops:
            name = stop.job, stop.task
            self.holds[name] = stopping(self.holds[name])
            self.gone_at[name] = self.now + self.jobs[stop.job].grace
            self.log.append((self.now, stop))
            self.tasks[name].stopped.append(self.now)
            if stop.for_job in self.waiting:
                self.reclaims[stop.for_job] = None
