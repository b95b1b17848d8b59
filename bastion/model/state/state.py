"""Where jobs stand: states, attempts, and the indices over them. Pure.

What is here is what decisions need, and is small: the specs themselves stay in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from bastion.quota.demand import CLASSES, STANDARD
from bastion.quota.resources import Resources, times, total

from ..audit import Moment, Stamp
from ..interfaces import AttemptKey
from ..job.alternatives import Alternative
from ..job.spec import FINISH_TIMEOUT_S
from ..job.spec_changes import Changes, Renewal
from .admin_file_status import File
from .decayed_usage import Used
from .interning import one, sharing
from .unreachable import Blind
from .user_counters import Census, Sent


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
    DEADLINE = "deadline"
    STRAGGLED = "straggled"


S = JobState

ENDED = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELLED, S.TIMEOUT, S.REJECTED})

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
    """One try at running a task, in the shape of its `choice`. It holds that until every worker is voided or gone.

    `finishing` is when the first worker of a gang was known to have ended with 0, and `ended` when all were known to be over;
    `finished` when the last of its processes had ended, as their workers say. `advanced`: one of them wrote a checkpoint.
    """

    number: int
    choice: int = 0
    state: AttemptState = AttemptState.STARTING
    runner: str
    tier: int = 0
    overdue: bool = False
    workers: list[Worker] = []
    started: Moment
    waits_for: str = ""
    waited: Moment | None = None
    running: Moment | None = None
    finishing: Moment | None = None
    ended: Moment | None = None
    stopping: Cause | None = None
    deadline: Moment | None = None
    grace_s: float | None = None
    renewed: Renewal | None = None
    for_job: str = ""
    cause: Cause | None = None
    exit_code: int | None = None
    reason: str = ""
    step: int | None = None
    finished: Moment | None = None
    advanced: bool = False
    saved: Moment | None = None
    every_s: float | None = None
    lost_s: float | None = None

    @property
    def at_work(self) -> list[int]:
        """The workers of which neither an end nor that they are over is known, by number."""
        return [number for number, worker in enumerate(self.workers) if worker.cause is None and not worker.over]

    @property
    def progressed(self) -> bool:
        """A checkpoint of it is known."""
        return self.advanced or self.saved is not None


class Task(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One task of a job that was started at least once, or ended before. `stops`: how often it was stopped for others."""

    state: JobState = JobState.PENDING
    attempts: list[Attempt] = []
    failures: int = 0
    losses: int = 0
    stops: int = 0
    ready_at: Moment | None = None
    cancel: bool = False
    since: Moment | None = None

    @property
    def live(self) -> Attempt | None:
        """The attempt that holds resources now, if any."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].state is not AttemptState.ENDED else None


class Job(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """A job: what decisions need of its spec, and its tasks.

    Tasks that never began are not objects: all numbers of `range(fresh, count)` are PENDING, or `rest` once closed. `waiting`
    are the begun tasks that are PENDING again. `counts` says how many tasks stand where; it is made anew with every change,
    for what a hundred thousand jobs have in common is one object (see `sharing`). `since` is when it began to wait,
    `submitted` when it was journalled, `asked` when its request was stored, if that was long before. `seq` and `index` say where
    in the journal the spec lies; they are the job's `order` in the queue, too, unless it was moved to another `place`. `later`
    are the numbers of the journal objects after `seq` that hold events of it. `after` are the conditions that are still open,
    `changes` what updates changed of the spec but for the command, which is `renewed`. While it is `held` nothing more of it
    starts; nor before its `build` has made its image, which then has this `digest`. `choices` are its shapes, if it has several;
    `choice` is that of its live attempts, else the first.
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
    submitted: Moment
    since: Moment
    asked: Moment | None = None
    time_limit_s: float | None = None
    finish_timeout_s: float = FINISH_TIMEOUT_S
    crash_guard: bool = True
    after: tuple[str, ...] = ()
    begin: Moment | None = None
    deadline: Moment | None = None
    max_parallel: int | None = None
    job_class: str = CLASSES[STANDARD]
    max_tier: int = 0
    choices: tuple[Alternative, ...] = ()
    choice: int = 0
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
    build: str = ""
    digest: str = ""
    reason: str = ""
    ended: Moment | None = None

    def __post_init__(self) -> None:
        if self.ended is None:  # of ended ones a reader makes many, and holds them for a moment
            self.share()

    def share(self) -> None:
        """Hold what many jobs have in common as one object."""
        self.user, self.project = one(self.user), one(self.project)
        self.submitted, self.since = one(self.submitted), one(self.since)
        self.retry_interval_s, self.grace_s = one(self.retry_interval_s), one(self.grace_s)
        self.time_limit_s = one(self.time_limit_s)
        if self.finish_timeout_s == FINISH_TIMEOUT_S:  # a default is left out by its identity
            self.finish_timeout_s = FINISH_TIMEOUT_S
        self.job_class = CLASSES[CLASSES.index(self.job_class)]  # the same
        self.resources, self.counts = _amounts(self.resources), tally(self.counts)

    @property
    def came(self) -> datetime:
        """When it was submitted, for people: its age counts from there. Decisions go by the journal's times alone."""
        return self.asked or self.submitted

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

    def task_state(self, number: int) -> JobState:
        """Where one task stands, begun or not."""
        task = self.tasks.get(number)
        return task.state if task else self.rest


_SUMMARY = (
    S.RUNNING, S.PROVISIONING, S.PREEMPTING, S.CANCELLING, S.PENDING,
    S.REJECTED, S.FAILED, S.TIMEOUT, S.CANCELLED, S.SUCCEEDED,
)  # fmt: skip


class State(msgspec.Struct, kw_only=True, dict=True):
    """The fold of the journal below `seq`.

    `requests` are the ids that were consumed, with the time of it: a request that comes twice is known. `reclaims` are the jobs
    that others were stopped for and that have not started yet. `used` is what users held of late. `capacity` is what each
    runner said that its machines hold; None: it knows no bound. `offers` are the kinds that it has, if it named them; in
    `blind` are those that do not answer. `pending` are the jobs with tasks that wait, `live` the tasks that hold resources.
    While it is `paused` nothing starts. `dependents` are the jobs that wait for others' ends, by the other and the condition;
    `doomed` those that wait in vain, with it; `deadlines` those of jobs that have not ended, the next one first. `builds` are
    those that jobs wait for, each with the jobs and the image to make for them. `marks` are the newest objects in which
    `quota`, `config` and `capacity` changed, not kept below `indexed`, as `Job.later`. `forgotten` is the latest end of a job
    that left. `version` is the writer's, of `epoch`. `sent` counts the bytes of today's requests; None: there were none yet.
    `head` is the digest of the newest journal object, "" if it is not known; `chained`: that object, or one before it, held the
    digest of its predecessor, so each one after it has to.
    The last decision was taken by `rules` of the policy; 0: there was none.
    """

    seq: int = 0
    epoch: int = 0
    version: str = ""
    now: Moment | None = None
    jobs: dict[str, Job] = {}
    requests: dict[str, Moment] = {}
    reclaims: dict[str, Moment] = {}
    files: dict[str, File] = {}
    capacity: dict[str, dict[str, int] | None] = {}
    offers: dict[str, list[str]] = {}
    blind: dict[str, Blind] = {}
    pending: dict[str, None] = {}
    live: dict[str, dict[int, None]] = {}
    dependents: dict[str, dict[str, dict[str, None]]] = {}
    doomed: dict[str, str] = {}
    deadlines: list[tuple[Moment, str]] = []
    builds: dict[str, dict[str, str]] = {}
    paused: Stamp | None = None
    marks: dict[str, tuple[int, ...]] = {}
    forgotten: Moment | None = None
    indexed: int | None = None
    used: Used | None = None
    sent: Sent | None = None
    head: str = ""
    chained: bool = False
    rules: int = 0

    def __post_init__(self) -> None:
        self.indexed = self.seq if self.indexed is None else self.indexed
        self.counted: Census | None = None

    def census(self) -> Census:
        """How many jobs have not ended: counted at the first question, and kept up from then on; no part of a snapshot."""
        if self.counted is None:
            self.counted = Census((job.user, job.count) for job in self.jobs.values() if job.ended is None)
        return self.counted

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
        held = ((self.jobs[job], number) for job, numbers in self.live.items() for number in numbers)
        live = ((job, number, job.tasks[number].attempts[-1]) for job, number in held)
        return [(AttemptKey(job.id, number, attempt.number), job, attempt) for job, number, attempt in live]
