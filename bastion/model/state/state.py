"""The state of all jobs: jobs, tasks, attempts, and the indices over them. Pure.

The state holds only what decisions need, and is small. The specs themselves stay in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from functools import lru_cache

import msgspec

from bastion.quota.demand import CLASSES
from bastion.quota.project_work import ProjectWork
from bastion.quota.resources import Resources, times, total

from ..codec import AuditEntry, Moment
from ..interfaces import AttemptKey
from ..job.alternatives import Alternative
from ..job.spec import FINISH_TIMEOUT_S, KeptSpec
from ..job.spec_changes import Changes, Renewal
from .admin_file_status import AdminFileStatus
from .decayed_usage import DecayedUsage
from .interning import REMEMBERED, one, sharing
from .unreachable import Unreachable
from .user_counters import DailyBytes, UserCounters


class JobState(StrEnum):
    """The state of a job or of a task.

    PENDING: it waits to start, or to start again.
    PROVISIONING: an attempt was started, and not all its workers are there yet.
    RUNNING: all workers of its attempt came.
    PREEMPTING: its attempt is being stopped, for another job or for a new command.
    CANCELLING: its attempt is being stopped because of a cancel request.
    SUCCEEDED: it ended with exit code 0.
    FAILED: it failed and has no tries left, or its image could not be built.
    CANCELLED: it was cancelled, or one of its conditions can never be met.
    TIMEOUT: it reached its time limit or its deadline.
    REJECTED: the bastion refused the job.
    """

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
    """The state of one attempt.

    STARTING: not all workers were seen yet.
    RUNNING: all workers came.
    STOPPING: it is to end.
    ENDED: nothing of it can run any more.
    """

    STARTING = "STARTING"
    RUNNING = "RUNNING"
    STOPPING = "STOPPING"
    ENDED = "ENDED"


class Cause(StrEnum):
    """The cause of the end of an attempt, or of its stop.

    OK: exit code 0.
    CODE: another exit code.
    SIGNAL: a signal killed the process.
    OOM: out of memory.
    TIME_LIMIT: it ran too long.
    PREEMPTED: it was stopped for another job.
    CANCELLED: a request cancelled it.
    LOST: a machine or a worker was lost.
    SETUP: the setup failed.
    VOID: no worker came up.
    UPDATED: it was stopped for a new command.
    DEADLINE: the job's deadline passed.
    STRAGGLED: others of a gang did not end in time after the first worker had ended with 0.
    """

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
_table = lru_cache(REMEMBERED)(dict[str, str])  # like `one`, for a table of texts
_TABLES = tuple(field.name for field in msgspec.structs.fields(KeptSpec) if field.type == dict[str, str])


class Worker(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One worker of an attempt. It is unseen until its claim is read; then it is there, then gone. Or it is voided.

    machine: the backend's id of its machine; "" until its claim is read.
    address: address of its process; "" if it is not known.
    port: port of its process; 0 if it is not known.
    voided: the bastion holds its claim, so it can never run.
    gone: its machine is gone.
    cause: why its process ended; None until its facts say so.
    exit_code: exit code of its process; None if there is none.
    message: what went wrong, in words; "" if nothing did.
    """

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
        """Return True if its claim was read."""
        return bool(self.machine)

    @property
    def over(self) -> bool:
        """Return True if it can never run again."""
        return self.voided or self.gone


class Attempt(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One attempt to run a task. It holds the resources of its `choice` until every worker is voided or gone.

    number: its number within the task, from 0.
    choice: number of the job's shape that it has.
    state: its state.
    runner: name of the runner that gives its machines; "" if the attempt was lost with a part of the journal.
    tier: the quota tier that its resources count in.
    overdue: True for a gang that had waited for too long when it was started.
    workers: its workers, by number.
    started: when it was started.
    waits_for: what its machines wait for, as the runner says; "" if workers are expected.
    waited: when `waits_for` changed last; None if it never did.
    running: when all workers had been seen, or earlier if a worker's process started earlier; None before that.
    finishing: when the first worker of a gang was known to have ended with 0, while others were at work; else None.
    ended: when all workers were known to be over; None before that.
    stopping: why it is to be stopped; None if it is not.
    deadline: end of the grace period that `stopping` began; None if it is not to be stopped.
    grace_s: length of that grace period, in seconds; None if it is not to be stopped.
    renewed: the newest command of the job when the attempt was started; None: that of the spec.
    for_job: id of the job that it is stopped for; "" for none.
    cause: why it ended; None before that.
    exit_code: exit code of the task, or of the process that failed the gang; None if there is none.
    reason: why it is stopped or ended, in words.
    step: the last step that a worker reported; None for none.
    finished: when the last of its processes had ended, as its workers say; None if they did not say it.
    advanced: True if one of its workers wrote a checkpoint, as known from the worker's end.
    saved: when its last recorded checkpoint was written; None for none.
    every_s: seconds between checkpoints from `saved` on; None if that is not known.
    lost_s: seconds of its work that no checkpoint holds, counted when it was stopped; None if they were not counted.
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
        """Return the numbers of workers that are still at work: neither their end nor that they are over is known."""
        return [number for number, worker in enumerate(self.workers) if worker.cause is None and not worker.over]

    @property
    def progressed(self) -> bool:
        """Return True if it is known to have written a checkpoint."""
        return self.advanced or self.saved is not None


class Task(msgspec.Struct, kw_only=True, omit_defaults=True, gc=False):
    """One task of a job that was started at least once, or ended before it could start.

    state: its state.
    attempts: all its attempts, by number.
    failures: failures that use up tries, since the last progress.
    losses: how many of its last attempts in a row were lost or void.
    stops: how often it was stopped for other jobs.
    ready_at: when it may start again after a failure or a loss; None: at once.
    cancel: True if a request cancelled this task alone.
    since: not set by the fold.
    """

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
        """Return the attempt that holds resources now; None if there is none."""
        return self.attempts[-1] if self.attempts and self.attempts[-1].state is not AttemptState.ENDED else None


class Job(KeptSpec, kw_only=True, omit_defaults=True, gc=False):
    """A job: the fields of its spec that are kept, as updates changed them, and its tasks.

    Tasks that never started are no objects: all numbers of `range(fresh, count)` without one are PENDING, or `rest`
    once the job is closed.

    id: made from its name and its request's id; never reused.
    resources: amounts per replica, by kind, of the current `choice`.
    replicas: replicas of the current `choice`.
    seq, index: where its spec lies: number of the journal object, and place among its events.
    request: name of the request that it came with.
    submitted: when it was journalled.
    since: when it began to wait, or to wait again.
    asked: when its request was stored, if that was long before `submitted`; else None.
    after: the conditions that are still open.
    choices: all its shapes if it has several; else empty.
    choice: number of the shape of its live attempts; 0 if none lives.
    later: numbers of the journal objects after `seq` that hold events of it.
    fresh: the first number from which on tasks may have no object.
    rest: state of tasks that have no object.
    tasks: the tasks that have an object, by number.
    waiting: numbers of the tasks in `tasks` that are PENDING again.
    counts: number of tasks in each state. Every change makes a new one, because jobs share equal ones (see `sharing`).
    cancelled_by: the user who cancelled the whole job; "" for none.
    held: who holds it, and since when; while it is held nothing more of it starts. None: it is not held.
    place: its place among pending jobs if it was moved; None: `seq` and `index` decide.
    changes: what updates changed of the spec, without the command; None for nothing.
    renewed: its newest command, if an update gave one; None: that of the spec.
    build: the build that its image waits for; "" for none. Nothing starts before the image is made.
    digest: digest of the image that a build made; "" for none.
    reason: why its last attempt, or the job, ended; in words.
    ended: when all its tasks had ended; None before that.
    """

    id: str
    # The next five are always written, although a spec leaves them out at their defaults: older readers need them.
    count: int
    priority: int
    max_tries: int
    retry_interval_s: float
    grace_s: float
    begin: Moment | None = None
    deadline: Moment | None = None
    resources: Resources
    replicas: int
    seq: int
    index: int
    request: str
    submitted: Moment
    since: Moment
    asked: Moment | None = None
    after: tuple[str, ...] = ()
    choices: tuple[Alternative, ...] = ()
    choice: int = 0
    later: tuple[int, ...] = ()
    fresh: int = 0
    rest: JobState = JobState.PENDING
    tasks: dict[int, Task] = {}
    waiting: dict[int, None] = {}
    counts: Mapping[JobState, int] = {}
    cancelled_by: str = ""
    held: AuditEntry | None = None
    place: int | None = None
    changes: Changes | None = None
    renewed: Renewal | None = None
    build: str = ""
    digest: str = ""
    reason: str = ""
    ended: Moment | None = None

    def __post_init__(self) -> None:
        if self.ended is None:  # a reader makes many ended jobs and soon drops them: sharing would not pay
            self.share()

    def share(self) -> None:
        """Replace values that many jobs have in common by shared objects."""
        self.user, self.project = one(self.user), one(self.project)
        self.submitted, self.since = one(self.submitted), one(self.since)
        self.retry_interval_s, self.grace_s = one(self.retry_interval_s), one(self.grace_s)
        self.time_limit_s = one(self.time_limit_s)
        if self.finish_timeout_s == FINISH_TIMEOUT_S:  # msgspec leaves out a default only if it is the same object
            self.finish_timeout_s = FINISH_TIMEOUT_S
        self.job_class = CLASSES[CLASSES.index(self.job_class)]  # for the same reason
        self.resources, self.counts = _amounts(self.resources), tally(self.counts)
        for name in _TABLES:
            setattr(self, name, _table(tuple(getattr(self, name).items())))

    @property
    def came(self) -> datetime:
        """Return when it was submitted, for people: its age counts from there.

        Decisions use only the journal's times.
        """
        return self.asked or self.submitted

    @property
    def demand(self) -> Resources:
        """Return what one task holds: all its replicas together."""
        return self.resources if self.replicas == 1 else times(self.resources, self.replicas)

    @property
    def order(self) -> int:
        """Return its place among pending jobs: the smaller goes first."""
        return self.entered if self.place is None else self.place

    @property
    def entered(self) -> int:
        """Return its place in the journal, which never changes."""
        return self.seq * 1_000_000 + self.index  # an object has a limited size, and so fewer than a million events

    @property
    def state(self) -> JobState:
        """Return one state for the whole job: the most active of its tasks' states, or the worst of their ends."""
        return next(state for state in _SUMMARY if self.counts.get(state))

    def task_state(self, number: int) -> JobState:
        """Return the state of one task, started or not."""
        task = self.tasks.get(number)
        return task.state if task else self.rest


_SUMMARY = (
    S.RUNNING, S.PROVISIONING, S.PREEMPTING, S.CANCELLING, S.PENDING,
    S.REJECTED, S.FAILED, S.TIMEOUT, S.CANCELLED, S.SUCCEEDED,
)  # fmt: skip


class State(msgspec.Struct, kw_only=True, dict=True):
    """The fold of all journal objects below `seq`.

    seq: number of the next journal object.
    epoch: epoch of the bastion that wrote last.
    version: that bastion's version.
    now: time of the newest journal object; None before the first.
    jobs: all jobs that the state still holds, by id.
    requests: the requests that were consumed, with the time: a request that comes twice is recognised.
    reclaims: jobs that others were stopped for and that have not started yet, with the time.
    files: the quota file and the configuration, as `quota` and `config`.
    capacity: what each runner says its machines hold; None: it has no limit of its own.
    offers: the kinds that each runner has, if it named them.
    blind: the runners that do not answer.
    pending: ids of the jobs with tasks that wait.
    live: numbers of the tasks that hold resources, by job.
    dependents: the jobs that wait for the end of a job, by that job and by condition.
    doomed: jobs with a condition that can never be met, with that condition.
    deadlines: (deadline, job id) of jobs that have not ended, the earliest first.
    builds: the builds that jobs wait for; for each, the jobs with the image to make for them.
    paused: who paused the bastion, and since when; while it is paused nothing starts. None: it is not paused.
    marks: numbers of the newest objects that changed `quota`, `config` and `capacity`; not complete below `indexed`.
    forgotten: the latest end of a job that left the state; None if none has left.
    indexed: `marks` and `Job.later` are complete from this journal object on.
    used: decayed usage of all users; None before the first use.
    sent: bytes of today's requests by user; None: there were none yet.
    head: digest of the newest journal object; "" if it is not known.
    chained: True if that object, or one before it, held the digest of its predecessor; then each later one has to.
    rules: the policy's rules that took the last decision; 0: there was none.
    work: what each project gave to which jobs; None before the first decision that needs it (see `journal.recent_usage`).
    """

    seq: int = 0
    epoch: int = 0
    version: str = ""
    now: Moment | None = None
    jobs: dict[str, Job] = {}
    requests: dict[str, Moment] = {}
    reclaims: dict[str, Moment] = {}
    files: dict[str, AdminFileStatus] = {}
    capacity: dict[str, dict[str, int] | None] = {}
    offers: dict[str, list[str]] = {}
    blind: dict[str, Unreachable] = {}
    pending: dict[str, None] = {}
    live: dict[str, dict[int, None]] = {}
    dependents: dict[str, dict[str, dict[str, None]]] = {}
    doomed: dict[str, str] = {}
    deadlines: list[tuple[Moment, str]] = []
    builds: dict[str, dict[str, str]] = {}
    paused: AuditEntry | None = None
    marks: dict[str, tuple[int, ...]] = {}
    forgotten: Moment | None = None
    indexed: int | None = None
    used: DecayedUsage | None = None
    sent: DailyBytes | None = None
    head: str = ""
    chained: bool = False
    rules: int = 0
    work: dict[str, ProjectWork] | None = None

    def __post_init__(self) -> None:
        self.indexed = self.seq if self.indexed is None else self.indexed
        self.counted: UserCounters | None = None

    def census(self) -> UserCounters:
        """Return the counters of jobs that have not ended.

        They are counted at the first call and kept up to date from then on. They are no part of a snapshot.
        """
        if self.counted is None:
            self.counted = UserCounters((job.user, job.count) for job in self.jobs.values() if job.ended is None)
        return self.counted

    def reported(self) -> dict[str, int] | None:
        """Return what all runners hold together; None if one of them has no limit, or none has reported yet."""
        amounts = [resources for resources in self.capacity.values() if resources is not None]
        return total(amounts) if amounts and len(amounts) == len(self.capacity) else None

    def attempt(self, key: AttemptKey) -> Attempt | None:
        """Return the attempt of this key; None if the state does not hold it."""
        job = self.jobs.get(key.job)
        task = job.tasks.get(key.task) if job else None
        return task.attempts[key.attempt] if task and key.attempt < len(task.attempts) else None

    def live_attempts(self) -> list[tuple[AttemptKey, Job, Attempt]]:
        """List every attempt that holds resources, in the order of its job."""
        held = ((self.jobs[job], number) for job, numbers in self.live.items() for number in numbers)
        live = ((job, number, job.tasks[number].attempts[-1]) for job, number in held)
        return [(AttemptKey(job.id, number, attempt.number), job, attempt) for job, number, attempt in live]
