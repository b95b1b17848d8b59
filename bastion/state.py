"""Where jobs stand: states, attempts, and the table of legal moves. Pure.

What is here is what decisions need, and is small: the specs themselves stay in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from bastion.changes import Changes, Renewal
from bastion.ports import AttemptKey
from bastion.sharing import one, sharing
from bastion.stamp import Stamp
from quota.resources import Resources, times, total


class JobState(StrEnum):
    """Where a job or a task stands."""

    PENDING = "PENDING"
    PROVISIONING = "PROVISIONING"
    RUNNING = "RUNNING"
    PREEMPTING = "PREEMPTING"
    CANCELLING = "CANCELLING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    REJECTED = "REJECTED"


class AttemptState(StrEnum):
    """Where one attempt stands."""

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    ENDED = "ENDED"


class Cause(StrEnum):
    """Why an attempt ended, or is being stopped."""

    OK = "ok"
    CODE = "code"
    SIGNAL = "signal"
    OOM = "oom"
    TIME_LIMIT = "time_limit"
    PREEMPTED = "preempted"
    CANCELLED = "cancelled"
    LOST = "lost"
    SETUP = "setup"
    VOID = "void"
    UPDATED = "updated"


S = JobState
A = AttemptState

ENDED = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED, S.TIMEOUT, S.REJECTED})

MOVES: dict[JobState, frozenset[JobState]] = {
    S.PENDING: frozenset({S.PROVISIONING, S.CANCELLED}),
    S.PROVISIONING: frozenset({S.RUNNING, S.PREEMPTING, S.CANCELLING, S.PENDING, *ENDED - {S.REJECTED}}),
    S.RUNNING: frozenset({S.PREEMPTING, S.CANCELLING, S.PENDING, *ENDED - {S.REJECTED}}),
    S.PREEMPTING: frozenset({S.CANCELLING, S.PENDING, *ENDED - {S.REJECTED}}),
    S.CANCELLING: frozenset(ENDED - {S.REJECTED}),
    **{state: frozenset() for state in ENDED},
}
"""Which state of a task may follow which. The fold refuses anything else."""

ATTEMPT_MOVES: dict[AttemptState, frozenset[AttemptState]] = {
    A.STARTING: frozenset({A.RUNNING, A.STOPPING, A.ENDED}),
    A.RUNNING: frozenset({A.STOPPING, A.ENDED}),
    A.STOPPING: frozenset({A.ENDED}),
    A.ENDED: frozenset(),
}

FAILURES = frozenset({Cause.CODE, Cause.SIGNAL, Cause.OOM, Cause.SETUP})
"""The causes that use up one of the user's tries; infrastructure never does."""


_amounts, tally = sharing(str), sharing(JobState)


class Worker(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One worker of an attempt: unseen until its claim is read, then there, then gone; or voided."""

    machine: str = ""
    address: str = ""
    port: int = 0
    voided: bool = False
    gone: bool = False
    cause: Cause | None = None
    exit_code: int | None = None
    message: str = ""

    @property
    def seen(self) -> bool:
        """Its claim was read."""
        return bool(self.machine)

    @property
    def over(self) -> bool:
        """It can never run again."""
        return self.voided or self.gone


class Attempt(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One try at running a task. It holds its resources until every worker is voided or gone."""

    number: int
    state: AttemptState = AttemptState.STARTING
    runner: str
    tier: int = 0
    workers: list[Worker] = []
    started: datetime
    running: datetime | None = None
    ended: datetime | None = None
    stopping: Cause | None = None
    deadline: datetime | None = None
    grace_s: float | None = None
    renewed: Renewal | None = None
    for_job: str = ""
    cause: Cause | None = None
    exit_code: int | None = None
    reason: str = ""
    step: int | None = None


class Task(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One task of a job that was started at least once, or ended before."""

    state: JobState = JobState.PENDING
    attempts: list[Attempt] = []
    failures: int = 0
    losses: int = 0
    ready_at: datetime | None = None
    cancel: bool = False
    since: datetime | None = None

    @property
    def live(self) -> Attempt | None:
        """The attempt that holds resources now, if any."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].state is not AttemptState.ENDED else None


class Job(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """A job: what decisions need of its spec, and its tasks.

    Tasks that never began are not objects: all numbers of `range(fresh, count)` are PENDING, or `rest` once closed.
    `waiting` are the begun tasks that are PENDING again. `counts` says how many tasks stand where; it is made anew
    with every change, for what a hundred thousand jobs have in common is one object (see `sharing`).
    `since` is when it began to wait, `submitted` when it was journalled.
    `seq` and `index` say where in the journal the spec lies; they are the job's `order` in the queue, too, unless it
    was moved to another `place`. `later` are the numbers of the journal objects after `seq` that hold events of it.
    `changes` are what updates changed of the spec but for the command, which is `renewed`. While it is `held` nothing
    more of it starts.
    """

    id: str
    name: str
    user: str
    project: str
    priority: int
    resources: Resources
    replicas: int
    count: int
    max_tries: int
    retry_interval_s: float
    grace_s: float
    seq: int
    index: int
    request: str
    submitted: datetime
    since: datetime
    time_limit_s: float | None = None
    later: tuple[int, ...] = ()
    fresh: int = 0
    rest: JobState = JobState.PENDING
    tasks: dict[int, Task] = {}
    waiting: dict[int, None] = {}
    counts: Mapping[JobState, int] = {}
    cancelled_by: str = ""
    held: Stamp | None = None
    place: int | None = None
    changes: Changes | None = None
    renewed: Renewal | None = None
    reason: str = ""
    ended: datetime | None = None

    def __post_init__(self) -> None:
        if self.ended is None:  # of ended ones a reader makes many, and holds them for a moment
            self.share()

    def share(self) -> None:
        """Hold what many jobs have in common as one object."""
        self.user, self.project = one(self.user), one(self.project)
        self.submitted, self.since = one(self.submitted), one(self.since)
        self.retry_interval_s, self.grace_s = one(self.retry_interval_s), one(self.grace_s)
        self.time_limit_s = one(self.time_limit_s)
        self.resources, self.counts = _amounts(self.resources), tally(self.counts)

    @property
    def demand(self) -> Resources:
        """What one task holds: all its replicas together."""
        return self.resources if self.replicas == 1 else times(self.resources, self.replicas)

    @property
    def order(self) -> int:
        """Its place in the queue: the smaller goes first."""
        return self.seq * 1_000_000 + self.index if self.place is None else self.place

    @property
    def state(self) -> JobState:
        """One word for the whole job: the liveliest of its tasks, or the worst of their ends."""
        return next(state for state in _SUMMARY if self.counts.get(state))


_SUMMARY = (
    S.RUNNING, S.PROVISIONING, S.PREEMPTING, S.CANCELLING, S.PENDING,
    S.REJECTED, S.FAILED, S.TIMEOUT, S.CANCELLED, S.SUCCEEDED,
)  # fmt: skip


class File(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file of the admin's. `text` is the last good one, None if there never was one; `problem` says what is wrong."""

    version: str
    text: str | None = None
    problem: str = ""


class State(msgspec.Struct, kw_only=True):
    """The fold of the journal below `seq`.

    `requests` are the ids that were consumed, with the time of it: a request that comes twice is known.
    `reclaims` are the jobs that others were stopped for and that have not started yet.
    `capacity` is what each runner said that its machines hold; None: it knows no bound.
    `pending` are the jobs with tasks that wait, `live` the tasks that hold resources. While it is `paused` nothing starts.
    `marks` are the journal objects in which what is everybody's changed: `quota`, `config`, `capacity`; the newest of each.
    `forgotten` is the latest end of a job that left. Below `indexed` neither `marks` nor `Job.later` were kept.
    """

    seq: int = 0
    epoch: int = 0
    now: datetime | None = None
    jobs: dict[str, Job] = {}
    requests: dict[str, datetime] = {}
    reclaims: dict[str, datetime] = {}
    files: dict[str, File] = {}
    capacity: dict[str, dict[str, int] | None] = {}
    pending: dict[str, None] = {}
    live: dict[str, dict[int, None]] = {}
    paused: Stamp | None = None
    marks: dict[str, tuple[int, ...]] = {}
    forgotten: datetime | None = None
    indexed: int | None = None

    def __post_init__(self) -> None:
        self.indexed = self.seq if self.indexed is None else self.indexed

    def share(self) -> None:
        """A state that was read holds equal values many times over: keep one of each. For who holds it for long."""
        for job in self.jobs.values():
            job.share()
        known = {job.request: job.request for job in self.jobs.values()} | {
            job.id: job.id for job in self.jobs.values()
        }
        self.jobs = {known.get(name, name): job for name, job in self.jobs.items()}
        self.requests = {known.get(name, name): one(at) for name, at in self.requests.items()}
        self.pending = {known.get(name, name): None for name in self.pending}

    def reported(self) -> dict[str, int] | None:
        """What all runners hold together; None if one of them knows no bound, or none has reported yet."""
        amounts = [resources for resources in self.capacity.values() if resources is not None]
        return total(amounts) if amounts and len(amounts) == len(self.capacity) else None

    def attempt(self, key: AttemptKey) -> Attempt | None:
        """The attempt of this key, if the state still knows it."""
        job = self.jobs.get(key.job)
        task = job.tasks.get(key.task) if job else None
        return task.attempts[key.attempt] if task and key.attempt < len(task.attempts) else None

    def live_attempts(self) -> list[tuple[AttemptKey, Job, Attempt]]:
        """Every attempt that holds resources, in the order of its job."""
        out = []
        for job_id, numbers in self.live.items():
            job = self.jobs[job_id]
            for number in numbers:
                attempt = job.tasks[number].attempts[-1]
                out.append((AttemptKey(job_id, number, attempt.number), job, attempt))
        return out
