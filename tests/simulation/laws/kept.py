"""Laws about the pause between two tries of a task: only a job that could have preempted it gets what it held."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import inf

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import Cause, Job, JobState, State
from bastion.model.state.transitions import FAILURES
from bastion.model.stored.events import AnyEvent, Decided, Ended, Started
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.demand import CLASSES
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, minus, total
from bastion.quota.shares import Shares, amounts
from bastion.schedule.plan import inputs
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.pace import CAPACITY

PAUSE = timedelta(seconds=60)
"""The longest pause during which what a try held is kept; it is kept as long again if the next try cannot begin."""

WAITS = timedelta(seconds=20)
"""The shortest `reclaim_delay` of a simulated world: a job that has waited for less preempts no other job."""


@dataclass(slots=True)
class KeptLaws:
    """Keeps what failed tries held until the next try, from the events alone.

    `ends`: when that next try may begin. `fleet`: the capacity of each runner. `size`: what an attempt holds or held.
    """

    fleet: Mapping[str, Resources]
    size: Callable[[AttemptKey], Resources]
    ends: dict[AttemptKey, datetime] = field(default_factory=dict)

    def written(self, record: JournalObject, truth: State) -> None:
        """Check a journal object."""
        decided = [event.now or record.now for event in record.events if isinstance(event, Decided)]
        begun: list[str] = []
        for event in record.events:
            self._note(event, truth, record.now, begun)
        if not decided:
            return
        now, quota = decided[0], inputs(truth).quota
        kept = {key: at for key, at in self.ends.items() if now < at + PAUSE and _may_start(truth, key, quota, now)}
        self.ends = {key: at for key, at in kept.items() if _place(key, kept) < _may_run(truth, key)}
        starts = [event for event in record.events if isinstance(event, Started)]
        # The first pass takes what is kept for whoever may take it. In what is kept after that, nobody may have slipped.
        for event in [event for event in starts if self._take(event, truth, quota, now)]:
            if key := self._take(event, truth, quota, now):
                raise Broken(f"{event.key} slipped in between two tries of {key.job}, after {key}")
        self.ends = {key: at for key, at in self.ends.items() if decided[-1] < at}

    def held(self, runner: str, truth: State, now: datetime) -> Resources:
        """Return what a runner keeps for tries that do not begin yet."""
        return self._sum(key for key, at in self.ends.items() if now < at and _runner(truth, key) == runner)

    def _note(self, event: AnyEvent, truth: State, now: datetime, begun: list[str]) -> None:
        """Note the tries that fail, and the starts that follow them.

        Any task of an array may begin in place of a failed one. What was being stopped for another job is not kept.
        `begun`: the jobs of starts in this object that replace no failed try yet; each replaces one that ends later.
        """
        if isinstance(event, Ended) and event.cause in FAILURES and event.outcome is JobState.PENDING:
            attempt, at = truth.attempt(event.key), event.ready_at or now
            if at - now <= PAUSE and attempt and attempt.stopping is not Cause.PREEMPTED:
                if event.job in begun:
                    begun.remove(event.job)
                else:
                    self.ends[event.key] = at
        if isinstance(event, Started):
            if own := [key for key in self.ends if key.job == event.job]:
                del self.ends[next((key for key in own if key.task == event.task), own[0])]
            else:
                begun.append(event.job)

    def _take(self, event: Started, truth: State, quota: Quota | None, now: datetime) -> AttemptKey | None:
        """Drop what the start may take of the kept resources. Return the first attempt of which it may not take any."""
        own = self.size(event.key)
        kept = [
            key
            for key in self.ends
            if key.job != event.job and _runner(truth, key) == event.runner and _shared(own, self.size(key))
        ]
        live = [key for key, _, attempt in truth.live_attempts() if attempt.runner == event.runner]
        over = minus(self._sum([*live, *kept]), self.fleet[event.runner])
        if not any(amount > 0 and own.get(kind) for kind, amount in over.items()):
            return None
        waited = now - min(_since(job) for job in truth.jobs.values() if self._waits(job, event, truth))
        for key in kept:
            if not _retries(event, truth, now) and (
                waited < WAITS or not self._may_take(truth.jobs[event.job], truth.jobs[key.job], truth, quota)
            ):
                return key
            del self.ends[key]
        return None

    def _waits(self, job: Job, event: Started, truth: State) -> bool:
        """Return True if the job waits in the project of the start, or starts now itself."""
        began = [job.tasks[number].attempts[-1].started for number in truth.live.get(job.id, ())]
        return job.project == truth.jobs[event.job].project and (job.id in truth.pending or truth.now in began)

    def _may_take(self, job: Job, other: Job, truth: State, quota: Quota | None) -> bool:
        """Return True if `job` could have preempted `other`, by their ranks and by what its project held before."""
        ranks = [(CLASSES.index(each.job_class), each.priority) for each in (job, other)]
        if quota is None or job.project == other.project or ranks[0][0] < ranks[1][0]:
            return quota is None or ranks[0] < ranks[1]
        before = [
            key for key, own, at in truth.live_attempts() if own.project == job.project and at.started != truth.now
        ]
        return Shares(quota, CAPACITY).due(job.project, self._sum(before), amounts(job.demand))

    def _sum(self, keys: Iterable[AttemptKey]) -> Resources:
        return total(self.size(key) for key in keys)


def _runner(truth: State, key: AttemptKey) -> str:
    attempt = truth.attempt(key)
    return attempt.runner if attempt else ""


def _shared(one: Resources, other: Resources) -> bool:
    return any(amount and other.get(kind) for kind, amount in one.items())


def _may_start(truth: State, key: AttemptKey, quota: Quota | None, now: datetime) -> bool:
    """Return True if only the pause keeps the task from a start."""
    job = truth.jobs.get(key.job)
    if (
        job is None
        or quota is None
        or key.task not in job.waiting
        or job.held
        or not quota.admits(job.user, job.project)
    ):
        return False
    return not job.after and job.id not in truth.doomed and not (job.begin and job.begin > now)


def _may_run(truth: State, key: AttemptKey) -> float:
    """Return how many more tasks of the job may run."""
    most = truth.jobs[key.job].max_parallel
    return inf if most is None else most - len(truth.live.get(key.job, ()))


def _place(key: AttemptKey, kept: Iterable[AttemptKey]) -> int:
    """Return the place of a try among those of its job."""
    return sum(each.job == key.job and (each.task, each.attempt) < (key.task, key.attempt) for each in kept)


def _since(job: Job) -> datetime:
    return max(job.since, job.begin) if job.begin else job.since


def _retries(event: Started, truth: State, now: datetime) -> bool:
    """Return True if the start is itself the next try of a failed one, for which resources were kept, too."""
    last = truth.attempt(AttemptKey(event.job, event.task, event.attempt - 1)) if event.attempt else None
    return last is not None and last.cause in FAILURES and last.ended is not None and now < last.ended + 2 * PAUSE
