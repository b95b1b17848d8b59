"""The whole account of one job: its state, what it waits for, where it runs, or how it ended. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import ENDED, Attempt, AttemptState, Cause, Job, JobState
from bastion.schedule.held_work import finish_by, until

from ..read.job_rows import Row, newest_attempt, rfc3339
from .preemption_risk import PreemptionRisk
from .preemptions import PreemptedAttempt
from .timing import Timing
from .waiting import WaitingAccount


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerReports:
    """The last reports of an attempt's workers.

    beat: oldest of the workers' last beats, by the store's clock; None: no beat was found.
    phase: phase of the worker that is furthest ahead; empty: unknown.
    step: its step; None: unknown.
    checkpoint_at: time of its last checkpoint; None: unknown.
    """

    beat: datetime | None
    phase: str
    step: int | None
    checkpoint_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningAttempt:
    """One live attempt.

    task: number of the task.
    attempt: number of the attempt.
    state: its state.
    runner: name of its runner.
    machines: addresses of the workers that have reported, or names of their machines.
    since: when it ran first, or else when it was started.
    until: its latest end; None: nothing bounds it.
    finish_by: when the rest of a gang is stopped, because one worker has ended with 0; None: not the case.
    waits_for: what its machines wait for; empty: nothing.
    stopping: why it is being stopped; empty: it is not.
    for_job: id of the job that it is stopped for; empty: none.
    pulse: last reports of its workers; None: not read.
    """

    task: int
    attempt: int
    state: str
    runner: str
    machines: tuple[str, ...]
    since: datetime
    until: datetime | None
    finish_by: datetime | None
    waits_for: str
    stopping: str
    for_job: str
    pulse: WorkerReports | None


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnd:
    """The end of a job, or of one of its tasks.

    cause: cause of the end of the last attempt; empty: there was no attempt.
    exit_code: exit code of the last attempt; None: it has none.
    message: first fatal line of the log; empty: none.
    tries: tries that failed.
    max_tries: tries that the user allows.
    advice: what to do about it; empty: nothing.
    """

    cause: str
    exit_code: int | None
    message: str
    tries: int
    max_tries: int
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The account of a job that the bastion has read. Parts that do not apply are None or empty.

    since: when the job came into its state.
    timing: conditions and times that its user set.
    waiting: account of its pending tasks.
    running: its live attempts.
    end: how it ended.
    stops: attempts that were stopped for other jobs.
    exposure: its preemption risk.
    """

    since: datetime
    timing: Timing | None
    waiting: WaitingAccount | None
    running: tuple[RunningAttempt, ...]
    end: JobEnd | None
    stops: tuple[PreemptedAttempt, ...] = ()
    exposure: PreemptionRisk | None = None

    def row(self) -> Row:
        """Return the account as plain values for scripts."""
        parts = {
            "timing": self.timing,
            "waiting": self.waiting,
            "running": self.running,
            "end": self.end,
            "stops": self.stops,
            "exposure": self.exposure,
        }
        return {"since": rfc3339(self.since), **{name: plain(part) for name, part in parts.items()}}


def live(job: Job, task: int | None) -> list[tuple[AttemptKey, Attempt]]:
    """Return the attempts of a job, or of one task, that hold resources."""
    tasks = job.tasks.items() if task is None else [(task, job.tasks[task])] if task in job.tasks else []
    return [(AttemptKey(job.id, number, one.live.number), one.live) for number, one in tasks if one.live]


def running(job: Job, attempt: Attempt, task: int, pulse: WorkerReports | None) -> RunningAttempt:
    """Describe one live attempt."""
    return RunningAttempt(
        task=task,
        attempt=attempt.number,
        state=attempt.state.value,
        runner=attempt.runner,
        machines=tuple(worker.address or worker.machine for worker in attempt.workers if worker.seen),
        since=attempt.running or attempt.started,
        until=until(job, attempt),
        finish_by=finish_by(job, attempt),
        waits_for=attempt.waits_for,
        stopping=attempt.reason if attempt.state is AttemptState.STOPPING else "",
        for_job=attempt.for_job,
        pulse=pulse,
    )


def end(job: Job, task: int | None) -> JobEnd | None:
    """Describe the end of the job or the task; None if it has not ended."""
    state = job.state if task is None else job.task_state(task)
    if state not in ENDED:
        return None
    attempts = {number: one.attempts[-1] for number, one in job.tasks.items() if one.attempts}
    bad = [number for number in attempts if job.tasks[number].state is state]
    number = task if task is not None else min(bad, default=0)
    last = attempts.get(number)
    told = next((worker for worker in last.workers if worker.message), None) if last else None
    failures = job.tasks[number].failures if number in job.tasks else 0
    return JobEnd(
        cause=last.cause.value if last and last.cause else "",
        exit_code=last.exit_code if last else None,
        message=told.message if told else "",
        tries=failures,
        max_tries=job.max_tries,
        advice=_advice(job, state, last.cause if last else None, number),
    )


def since(job: Job) -> datetime:
    """Return when the job came into its state, as far as the job itself shows it."""
    last = newest_attempt(job)
    if job.ended:
        return job.ended
    if job.state is JobState.PENDING or last is None:
        return job.since
    return last.running or last.started


def _advice(job: Job, state: JobState, cause: Cause | None, task: int) -> str:
    name = job.id if job.count == 1 else f"'{job.id}[{task}]'"
    if state is JobState.REJECTED:
        return "correct what the reason names, then launch it again"
    if state is JobState.TIMEOUT and cause is not Cause.TIME_LIMIT:
        return "launch it again with a later --deadline"
    if state is JobState.CANCELLED:
        asked = job.cancelled_by or task in job.tasks  # else it could never begin
        return f"launch it again {'if that was not meant' if asked else 'with conditions that can be met'}"
    if state is JobState.FAILED and cause in (Cause.CODE, Cause.SIGNAL) and job.tasks[task].failures < job.max_tries:
        return f"see the end of its log: launch logs {name} --tail=50; to retry anyway: --no_crash_guard"
    return _ADVICE.get(cause, "").format(name=name) if cause else ""


_ADVICE: Mapping[Cause, str] = {
    Cause.CODE: "see the end of its log: launch logs {name} --tail=50; more tries: --max_tries",
    Cause.SIGNAL: "the process was killed, by itself or by its machine: launch logs {name} --tail=50",
    Cause.OOM: "ask for more memory, or let the job use less: launch logs {name} --tail=50",
    Cause.TIME_LIMIT: "allow more time with --time_limit, or let the job go on from its checkpoint",
    Cause.STRAGGLED: "see what the ranks that ran on waited for: launch logs {name} --tail=50; more time: --finish_timeout",
    Cause.SETUP: "the code could not be fetched or unpacked: launch the job again, from the folder of its code",
}


def plain(value: Any) -> Any:
    """Convert a record, and all values in it, into values that JSON has."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, datetime):
        return rfc3339(value)
    if isinstance(value, Mapping):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, Sequence):
        return [plain(part) for part in value]
    return plain(asdict(value))
