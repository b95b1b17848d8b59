"""Sum up a simulated journal: waits, stops, lost work and idle resources. Pure but for itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

from bastion.quota.resources import Resources
from bastion.quota.shares import Demand, Shares, amounts

from ..model.job.alternatives import Alternative
from ..model.state.state import Cause, JobState
from ..model.stored.events import Decided, Ended, Started, Stopping, Submitted
from ..model.stored.journal_object import JournalObject
from ..schedule.time_integral import MICROSECOND
from .utilization import Utilization
from .workload import NONE, WorkPace


@dataclass(frozen=True, slots=True)
class TaskWait:
    """The wait of one task.

    project: its project.
    demand: what it asked for, by kind.
    length: how long it waited in all: from its submission, and after each stop.
    """

    project: str
    demand: Resources
    length: timedelta


class HoldingLevel(NamedTuple):
    """The amount of one kind that a project holds from a moment on.

    at: that moment.
    project: the project.
    kind: the kind of resource.
    units: the amount that it holds.
    """

    at: datetime
    project: str
    kind: str
    units: int


@dataclass(slots=True)
class _Job:
    """A job that is not over.

    project: its project.
    choices: its shapes, the first choice first.
    demand: what a task holds or waits for: that of its attempts' choice, or of the first choice if no attempt lives.
    submitted: when it was submitted.
    left: number of its tasks that are not over.
    waited: how long each task has waited so far, by task.
    since: when a task that ran before began to wait again, by task.
    began: when the live attempt of a task started, by task.
    stops: how often its attempts were preempted.
    """

    project: str
    choices: tuple[Alternative, ...]
    demand: Resources
    submitted: datetime
    left: int
    waited: dict[int, timedelta] = field(default_factory=dict)
    since: dict[int, datetime] = field(default_factory=dict)
    began: dict[int, datetime] = field(default_factory=dict)
    stops: int = 0


class Summary:
    """Sum up a run. Give it every journal object in order, then close it.

    `balances` are kept from `since` to `until`, or to the end. Waits, stops and losses are counted to the end of all
    jobs, so that none is cut off. `lost` is by project and kind, in units times microseconds: work that was not saved
    when its attempt was stopped, and the time that restarts took. `unfinished` counts the jobs that were not over at
    the end; the waits of their tasks count up to then.
    """

    def __init__(
        self, shares: Shares, pace: WorkPace, since: datetime, until: datetime | None = None, *, log: bool = False
    ) -> None:
        self.jobs = self.stops = self.worst = self.unfinished = 0
        self.waits: list[TaskWait] = []
        self.stops_of: dict[str, int] = defaultdict(int)
        self.lost: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.balances = {kind: Utilization(kind, shares) for kind in shares.capacity}
        self.levels: list[HoldingLevel] = []
        self.since, self._now, self._until = since, since, until
        self._pace, self._log = pace, log
        self._known: dict[str, _Job] = {}
        self._shapes: dict[Demand, int] = defaultdict(int)

    def take(self, record: JournalObject) -> None:
        """Take one journal object."""
        self._advance(record.now)
        for event in record.events:
            work = _WORK.get(type(event))
            if work is not None:
                work(self, event, record.now)
        if any(isinstance(event, Decided) for event in record.events):
            self._judge()

    def close(self) -> None:
        """Count the jobs that are not over: all their tasks that are left count as waiting."""
        for job in self._known.values():
            self.unfinished += 1
            self.worst = max(self.worst, job.stops)
            for since in (*job.since.values(), *[job.submitted] * (job.left - len(job.since))):
                self.waits.append(TaskWait(job.project, job.demand, self._now - since))

    @property
    def until(self) -> datetime:
        """Return where the window ends."""
        return self._until or self._now

    def _advance(self, now: datetime) -> None:
        """Let time pass up to now, with all levels unchanged."""
        before, self._now = self._now, now
        end = min(now, self.until)
        if end <= before:
            return
        for balance in self.balances.values():
            balance.advance((end - before) // MICROSECOND)

    def _judge(self) -> None:
        """Judge a decision: what it left idle, or with the wrong project, stays so until the next one."""
        free = {kind: balance.total - balance.held for kind, balance in self.balances.items()}
        fits = any(all(n <= free.get(kind, 0) for kind, n in shape) for shape in self._shapes)
        for balance in self.balances.values():
            balance.judge(fits=fits)

    def _submitted(self, event: Submitted, now: datetime) -> None:
        spec = event.spec
        job = _Job(spec.project, spec.choices, spec.demand, now, spec.count)
        self.jobs += 1
        self._known[event.job] = job
        self._wait(job, spec.count)

    def _started(self, event: Started, now: datetime) -> None:
        job = self._known[event.job]
        since = job.since.pop(event.task, job.submitted)
        job.waited[event.task] = job.waited.get(event.task, NONE) + (now - since)
        if not job.began:
            self._choose(job, event.choice)
        job.began[event.task] = now
        self._wait(job, -1)
        self._hold(job, 1)

    def _stopping(self, event: Stopping, _now: datetime) -> None:
        if event.cause is Cause.PREEMPTED:
            job = self._known[event.job]
            job.stops += 1
            self.stops += 1
            self.stops_of[job.project] += 1

    def _ended(self, event: Ended, now: datetime) -> None:
        job = self._known[event.job]
        held = now - job.began.pop(event.task)
        self._hold(job, -1)
        again = event.outcome is JobState.PENDING
        self._lose(job, held - self._pace.saved(held, event.attempt) if again else self._pace.before(event.attempt))
        if again:
            job.since[event.task] = now
            self._wait(job, 1)
        else:
            self.waits.append(TaskWait(job.project, job.demand, job.waited.pop(event.task)))
            job.left -= 1
        if not job.began:
            self._choose(job, 0)
        if not job.left:
            self.worst = max(self.worst, job.stops)
            del self._known[event.job]

    def _lose(self, job: _Job, length: timedelta) -> None:
        if length:
            for kind, amount in job.demand.items():
                self.lost[job.project][kind] += amount * (length // MICROSECOND)

    def _choose(self, job: _Job, choice: int) -> None:
        """Let a job that has no live attempt wait for this choice from here on."""
        if (demand := job.choices[choice].demand) != job.demand:
            self._wait(job, -job.left)
            job.demand = demand
            self._wait(job, job.left)

    def _wait(self, job: _Job, tasks: int) -> None:
        """Count this many more tasks of the job as waiting; fewer if `tasks` is negative."""
        for kind, amount in amounts(job.demand):
            if kind in self.balances:
                self.balances[kind].wait(job.project, amount, tasks)
        shape = amounts(job.demand)
        self._shapes[shape] += tasks
        if not self._shapes[shape]:
            del self._shapes[shape]

    def _hold(self, job: _Job, tasks: int) -> None:
        """Count this many more tasks of the job as holding what they asked for; fewer if `tasks` is negative."""
        for kind, amount in amounts(job.demand):
            if kind in self.balances:
                self.balances[kind].hold(job.project, tasks * amount)
                if self._log:
                    self.levels.append(
                        HoldingLevel(self._now, job.project, kind, self.balances[kind].used[job.project])
                    )


_WORK: Mapping[type, Callable[[Summary, Any, datetime], None]] = MappingProxyType(
    {
        Submitted: Summary._submitted,
        Started: Summary._started,
        Stopping: Summary._stopping,
        Ended: Summary._ended,
    }
)
