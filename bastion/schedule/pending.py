"""Keep an index of the pending jobs and of what attempts hold, so that a tick costs what has changed. Pure.

The index lies beside the state. It is mutable and changes only itself. It answers like one that is built anew from the
same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from heapq import heappop, heappush

from msgspec import structs

from bastion.quota.demand import CLASSES, KEPT, LEFT, RULES, Holding, Want
from bastion.quota.policy.index import WantIndex
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources

from ..journal.attempts import shape
from ..journal.fold import concerned
from ..model.job.start_conditions import condition
from ..model.state.state import ENDED, Attempt, AttemptState, Cause, Job, JobState, State
from ..model.stored.events import AnyEvent, AttemptEvent, CancelRequested, Ended, Lapsed, Saved, Topped
from .eligibility import eligibility_of
from .held_work import KEEP, kept, until

Tasks = set[int] | None  # None: any of them

ENDS = (Ended, CancelRequested, Lapsed)
"""After these events, jobs that waited for the job of the event may wait no longer."""


class PendingJobs:
    """The index of pending jobs for the policy, and the list of jobs to look at again before it is right."""

    def __init__(self) -> None:
        self._changed: dict[str, Tasks] = {}
        self._begin(None, RULES)

    def _begin(self, quota: Quota | None, rules: int) -> None:
        self._quota, self._rules = quota, rules
        self._index = WantIndex()
        self._held: dict[str, set[int]] = {}
        self._kept: dict[str, dict[int, datetime]] = {}
        self._until: dict[str, datetime] = {}
        self._later: list[tuple[datetime, str]] = []
        self._behind: dict[str, dict[str, None]] = {}

    def note(self, state: State, event: AnyEvent) -> None:
        """Note that an event was applied to the state."""
        if isinstance(event, Topped) and event.job in state.jobs:
            self._move(state.jobs[event.job])
        if isinstance(event, Saved):
            self._touch(event.job, event.task)
        for job in concerned(event):
            if isinstance(event, AttemptEvent) and job == event.job:
                self._touch(job, event.task)
            else:
                self._changed[job] = None
            if isinstance(event, ENDS):
                self._changed |= dict.fromkeys(self._behind.get(job, ()))

    def differ(self, jobs: Iterable[str]) -> None:
        """Note that the next state differs in these jobs, no matter what changed it."""
        self._changed.update(dict.fromkeys(jobs))

    def opening(self, now: datetime) -> list[str]:
        """Return the jobs for which time alone lets more tasks wait for room by `now`."""
        return [job for at, job in self._later if at <= now]

    def bring_up(self, state: State, quota: Quota, now: datetime, rules: int = RULES) -> WantIndex:
        """Return the index for this state, under this quota and these rules of the policy."""
        if not (self._quota and _admit_alike(quota, self._quota) and rules == self._rules):
            self._begin(quota, rules)
            self._changed = dict.fromkeys((*state.pending, *state.live))
        while self._later and self._later[0][0] <= now:
            job = heappop(self._later)[1]
            self._changed.setdefault(job, set())
        for job, tasks in self._changed.items():
            if job in state.live or job in self._held:
                self._hold(state, job, tasks, quota)
            self._keep(state, job, quota, now)
            self._wait(state, job, quota, now)
        self._changed = {}
        return self._index

    def overlooked(self, state: State, now: datetime) -> tuple[str, ...]:
        """Return the jobs that may start but are missing in the index as it was last brought up.

        The result should always be empty: this is a self-check. It passes over all pending jobs.
        """
        if self._quota is None:
            return ()
        missing = (
            state.jobs[job] for job in state.pending if job not in self._index.wants and job not in self._changed
        )
        return tuple(job.id for job in missing if eligibility_of(state, job, self._quota, now).tasks)

    @property
    def until(self) -> datetime | None:
        """Return the next moment at which time alone lets more tasks wait for room; None if there is none."""
        # The heap keeps outdated moments; only those that `_until` still has count.
        while self._later and self._until.get(self._later[0][1]) != self._later[0][0]:
            heappop(self._later)
        return self._later[0][0] if self._later else None

    def _move(self, topped: Job) -> None:
        """Look again at the user's other jobs in the project: they got other places."""
        for line in self._index.work_classes.get(topped.project, {}).values():
            for *_, job in line.users.get(topped.user, ()):
                self._changed.setdefault(job, set())

    def _touch(self, job: str, task: int) -> None:
        tasks = self._changed.setdefault(job, set())
        if tasks is not None:
            tasks.add(task)

    def _wait(self, state: State, job_id: str, quota: Quota, now: datetime) -> None:
        self._until.pop(job_id, None)
        job = state.jobs.get(job_id)
        if job is None or job.ended:
            self._behind.pop(job_id, None)
        if job is None or job_id not in state.pending:
            self._index.wait_no_more(job_id)
            return
        found, keeps = eligibility_of(state, job, quota, now), self._kept.get(job_id, {})
        # What is kept ends `KEEP` after the next try could begin, so both moments change the answer.
        moments = [at if at > now else at + KEEP for at in keeps.values()] if keeps else []
        if found.until:
            moments.append(found.until)
        if moments:
            at = self._until[job_id] = min(moments)
            heappush(self._later, (at, job_id))
        for text in job.after:
            if wanted := condition(text):
                self._behind.setdefault(wanted.job, {})[job_id] = None
        if found.tasks:
            self._index.wait(bound(job, want(job, found.tasks), keeps))
        else:
            self._index.wait_no_more(job_id)

    def _keep(self, state: State, job_id: str, quota: Quota, now: datetime) -> None:
        """Enter what is kept for the next tries of a job, and remove what was kept before."""
        job = state.jobs.get(job_id)
        if not (job_id in self._kept or (job and job.waiting)):
            return  # most jobs never failed
        keeps = kept(state, job, quota, now) if job and self._rules >= KEPT else {}
        for number in self._kept.pop(job_id, {}):
            if (job_id, number) in self._index.kept:
                self._index.hold_no_more((job_id, number))
        if job and keeps:
            self._kept[job_id] = keeps
            for number, at in keeps.items():
                self._index.hold(next_try(job, number, at))

    def _hold(self, state: State, job_id: str, tasks: Tasks, quota: Quota) -> None:
        live, held = state.live.get(job_id, {}), self._held.setdefault(job_id, set())
        for number in {*held, *live} if tasks is None else tasks:
            if number in live:
                job = state.jobs[job_id]
                holds = hold(job, number, job.tasks[number].attempts[-1])
                if self._rules >= LEFT and quota.holder(job.user, job.project) != job.project:
                    holds = structs.replace(holds, project=quota.holder(job.user, job.project))
                self._index.hold(holds)
                held.add(number)
            else:
                self._index.hold_no_more((job_id, number))
                held.discard(number)
        if not held:
            del self._held[job_id]


def _admit_alike(one: Quota, other: Quota) -> bool:
    """Return True if the same jobs may start under both quotas: they differ at most in totals, shares and limits."""
    return one is other or (one.members, one.classes, one.is_open) == (other.members, other.classes, other.is_open)


def want(job: Job, tasks: int) -> Want:
    """Return the job as a want of the policy, with so many tasks that may start."""
    fresh = Want(
        job=job.id,
        project=job.project,
        user=job.user,
        demand=job.demand,
        priority=job.priority,
        order=job.order,
        since=max(job.since, job.begin) if job.begin else job.since,
        count=tasks,
        job_class=CLASSES.index(job.job_class),
        max_tier=job.max_tier,
        time_limit_s=job.time_limit_s,
        choice=job.choice,
        choices=_demands(job) if job.choices else (),
    )
    if not job.waiting:
        return fresh
    return structs.replace(
        fresh,
        stops=max(job.tasks[number].stops for number in job.waiting),
        waited_s=max(_waited_s(job, job.tasks[number].attempts) for number in job.waiting),
        stopped=max(_stopped(job), default=None),
    )


def bound(job: Job, waits: Want, keeps: Mapping[int, datetime]) -> Want:
    """Return the want of a job in the shape that is kept for its next tries, if something is kept."""
    if not waits.choices or not keeps:
        return waits
    choice = job.tasks[next(iter(keeps))].attempts[-1].choice
    return structs.replace(waits, demand=shape(job, choice).demand, choice=choice, choices=())


def _demands(job: Job) -> tuple[Resources, ...]:
    """Return the demands that would do for a job with several shapes.

    While some of its tasks hold resources, the others must use the same choice. Then there is nothing to choose.
    """
    bound = not job.counts.keys() <= ENDED | {JobState.PENDING}
    return () if bound else tuple(choice.demand for choice in job.choices)


def _stopped(job: Job) -> Iterator[datetime]:
    """Yield when its waiting tasks that were preempted were gone."""
    for number in job.waiting:
        last = job.tasks[number].attempts[-1]
        if last.cause is Cause.PREEMPTED and last.ended:
            yield last.ended


def _waited_s(job: Job, attempts: Sequence[Attempt]) -> float:
    """Return how many seconds a task has waited in all, each time until its next attempt started."""
    begun = max(job.submitted, job.begin or job.submitted)
    ends = (begun, *(attempt.ended or attempt.started for attempt in attempts))
    return sum(max(0.0, (attempt.started - end).total_seconds()) for attempt, end in zip(attempts, ends, strict=False))


def hold(job: Job, task: int, attempt: Attempt) -> Holding:
    """Return what a live attempt holds."""
    return Holding(
        job=job.id,
        project=job.project,
        user=job.user,
        demand=job.demand,
        priority=job.priority,
        order=job.order,
        since=attempt.started,
        task=task,
        tier=attempt.tier,
        stopping=attempt.state is AttemptState.STOPPING,
        job_class=CLASSES.index(job.job_class),
        max_tier=job.max_tier,
        saved=attempt.saved,
        every_s=attempt.every_s,
        stops=job.tasks[task].stops,
        until=until(job, attempt),
        overdue=attempt.overdue,
    )


def next_try(job: Job, task: int, at: datetime) -> Holding:
    """Return the resources that are kept for the next try of a task: those of its last try. That try begins at `at`."""
    last = job.tasks[task].attempts[-1]
    since = last.ended or last.started
    return structs.replace(
        hold(job, task, last), demand=shape(job, last.choice).demand, since=since, until=None, retry=at
    )
