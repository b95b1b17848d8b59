"""Decide what becomes of each live attempt. Pure: no clock, no bucket, no runner."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import takewhile

from ..model.durations import short
from ..model.interfaces import AttemptKey
from ..model.state.job_dependencies import in_vain
from ..model.state.state import Attempt, AttemptState, Cause, Job, JobState, State, Task, Worker
from ..model.state.transitions import FAILURES
from ..model.stored.events import Ended, Forgotten, Lapsed, Started, Stopping
from .held_work import finish_by

FORMING = timedelta(minutes=10)
"""The time that the workers of an attempt have to claim, once its machines are available. Then the attempt is given up.
"""

CRASH = timedelta(minutes=2)
"""A second failure with the same error ends the task, if each came this soon after its start and without a checkpoint.
"""

_CRASHES = (Cause.CODE, Cause.SIGNAL)
_MINOR = re.compile(r"0x[0-9a-fA-F]+|(?:/[\w.@+-]+)+|[0-9]+(?:\.[0-9]+)*")
"""The parts in which two lines of the same error may differ: addresses, paths, numbers."""
_PREFIX = re.compile(r"^(?:worker [0-9]+: )?exit code [0-9]+: ")

KEEP_REQUESTS = timedelta(hours=24)
"""A request id is remembered for at least this long."""
FORGET_AT_ONCE = 2_000
"""At most this many request ids stand in one event."""

_OWN = FAILURES | {Cause.TIME_LIMIT}
"""Causes that the process itself brought about. They hold, no matter what was asked of it meanwhile."""


def settle(state: State, now: datetime) -> Iterator[Stopping | Ended | Started]:
    """Yield what the live attempts come to: due stops, ends of attempts that cannot run any more, and successors.

    If a new command replaced an attempt, its successor starts at once on the resources that it held. It does not wait
    in the queue.
    """
    for key, job, attempt in state.live_attempts():
        yield from settle_one(state, key, job, attempt, now)


def settle_one(
    state: State, key: AttemptKey, job: Job, attempt: Attempt, now: datetime
) -> Iterator[Stopping | Ended | Started]:
    """Yield what one live attempt comes to."""
    task = job.tasks[key.task]
    if all(worker.over for worker in attempt.workers):
        end = _end(key, job, task, attempt, now)
        yield end
        if end.outcome is JobState.PENDING and _replaced(job, attempt) and not (job.held or state.paused):
            yield _successor(key, attempt)
    elif attempt.state is not AttemptState.STOPPING:
        yield from _stop(key, job, task, attempt, now)


def lapse(state: State, add: Callable[[Lapsed], bool], now: datetime) -> None:
    """Pass to `add` the end of each pending job that missed its deadline or can never start.

    Those ends can leave other jobs without a chance, so this repeats until none is left. A result of False from `add`
    stops it.
    """
    while lapsing := list(_lapses(state, now)):  # `add` applies each one, so the next pass sees the jobs that it doomed
        if not all(add(event) for event in lapsing):
            return


def _lapses(state: State, now: datetime) -> Iterator[Lapsed]:
    due = takewhile(lambda row: row[0] <= now, state.deadlines)
    late = dict.fromkeys(job for _, job in due if job in state.pending)
    for job_id in late:
        begun = "again " if state.jobs[job_id].waiting else ""
        told = f"the deadline passed before the job could start {begun}".rstrip()
        yield Lapsed(job=job_id, outcome=JobState.TIMEOUT, reason=told)
    for job_id, text in state.doomed.items():
        if job_id not in late:
            yield Lapsed(job=job_id, outcome=JobState.CANCELLED, reason=in_vain(state.jobs, text))


def _stop(key: AttemptKey, job: Job, task: Task, attempt: Attempt, now: datetime) -> Iterator[Stopping]:
    why = _stop_cause(job, task, attempt, now)
    if why:
        cause, reason, code = why
        yield Stopping(
            job=key.job,
            task=key.task,
            attempt=key.attempt,
            cause=cause,
            deadline=now + timedelta(seconds=job.grace_s),
            reason=reason,
            exit_code=code,
        )


def _stop_cause(job: Job, task: Task, attempt: Attempt, now: datetime) -> tuple[Cause, str, int | None] | None:
    """Return why to stop the attempt: the cause, the reason in words, and the exit code if a process failed its
    gang.
    """
    if job.cancelled_by or task.cancel:
        return Cause.CANCELLED, f"cancelled by {job.cancelled_by or 'its user'}", None
    if _is_late(job, now):
        return Cause.DEADLINE, "the deadline has passed", None
    if job.renewed is not None and attempt.renewed != job.renewed:
        return Cause.UPDATED, f"{job.renewed.user} set a new command; the next attempt runs it", None
    if attempt.at_work:
        for index, worker in enumerate(attempt.workers):
            if worker.cause not in (None, Cause.OK):
                return worker.cause, f"worker {index}: {_told(worker)}", worker.exit_code
            if worker.over and worker.cause is None:
                return Cause.LOST, f"the machine of worker {index} is gone", None
    late = finish_by(job, attempt)
    if late is not None and now >= late:
        return Cause.STRAGGLED, _straggle(job, attempt), None
    if attempt.state is AttemptState.STARTING and not attempt.waits_for and now >= forming_since(attempt) + FORMING:
        missing = sum(not worker.seen for worker in attempt.workers)
        return (
            Cause.VOID,
            f"{missing} of {len(attempt.workers)} workers did not come up in {FORMING.seconds // 60} min",
            None,
        )
    return None


def _straggle(job: Job, attempt: Attempt) -> str:
    """Say which rank still ran, and which rank had exited with 0."""
    left = attempt.at_work
    address = attempt.workers[left[0]].address
    who = f"rank {left[0]}" + (f" ({address})" if address else "")
    others = f" and {len(left) - 1} others" if len(left) > 1 else ""
    first = next(number for number, worker in enumerate(attempt.workers) if worker.cause is Cause.OK)
    after = f"{short(job.finish_timeout_s)} after rank {first} had ended with 0"
    return f"{who}{others} still ran {after}; --finish_timeout=0 waits for ever"


def forming_since(attempt: Attempt) -> datetime:
    """Return since when the attempt waits only for its workers."""
    return attempt.waited or attempt.started


def _end(key: AttemptKey, job: Job, task: Task, attempt: Attempt, now: datetime) -> Ended:
    cause, exit_code, told = _verdict(job, task, attempt)
    outcome, wait = _outcome(cause, job, task, attempt)
    if outcome is JobState.PENDING and _loops(job, task, attempt, (cause, exit_code, told), now):
        outcome, wait = JobState.FAILED, None
        told = f"the same error twice without progress: {_error(told)}; --no_crash_guard retries anyway"
    if outcome is JobState.PENDING and _is_late(job, now):
        outcome, wait = JobState.TIMEOUT, None
        told = told if cause is Cause.DEADLINE else f"{told}; the deadline has passed"
    return Ended(
        job=key.job,
        task=key.task,
        attempt=key.attempt,
        cause=cause,
        outcome=outcome,
        exit_code=exit_code,
        ready_at=now + wait if wait else None,
        reason=told,
        progressed=attempt.progressed,
    )


def _verdict(job: Job, task: Task, attempt: Attempt) -> tuple[Cause, int | None, str]:
    """Return why the attempt ended, with its exit code and the reason in words.

    Exit code 0 of all workers wins; then the process's own end; then the cause that was asked for.
    """
    workers = attempt.workers
    if all(worker.cause is Cause.OK for worker in workers):
        return Cause.OK, 0, "exit code 0"
    if attempt.stopping in _OWN:  # the first of the gang to fail; the others failed because of it
        return attempt.stopping, attempt.exit_code, attempt.reason
    # If a worker fails because another worker of its gang was lost, that is not the user's failure.
    bereft = attempt.stopping is Cause.LOST and any(worker.cause in (None, Cause.LOST) for worker in workers)
    own = None if bereft else next((worker for worker in workers if worker.cause in _OWN), None)
    if own is not None and own.cause is not None:
        return own.cause, own.exit_code, _told(own)
    code = next((worker.exit_code for worker in workers if worker.exit_code), None)
    if job.cancelled_by or task.cancel:
        return Cause.CANCELLED, code, attempt.reason or f"cancelled by {job.cancelled_by or 'its user'}"
    if attempt.stopping is not None and attempt.stopping not in _OWN:
        return attempt.stopping, code, attempt.reason
    if all(worker.voided for worker in workers):
        return Cause.VOID, None, "no worker came up"
    return Cause.LOST, code, _lost(workers)


def _loops(job: Job, task: Task, attempt: Attempt, end: tuple[Cause, int | None, str], now: datetime) -> bool:
    """Return True if the attempt ended like the one before.

    That means: by itself, with the same error, soon after its start, and without a checkpoint.
    """
    if not job.crash_guard or attempt.number == 0:
        return False
    before = task.attempts[attempt.number - 1]
    ends = (before.cause, before.exit_code, before.reason), end
    return (
        end[0] in _CRASHES
        and attempt.renewed == before.renewed == job.renewed
        and len({(cause, code, _MINOR.sub("#", _error(told))) for cause, code, told in ends}) == 1
        and all(each.stopping in (None, *_CRASHES) for each in (before, attempt))
        and all(_was_short(each, now) and not each.progressed for each in (before, attempt))
    )


def _was_short(attempt: Attempt, now: datetime) -> bool:
    return (attempt.finished or attempt.ended or now) - (attempt.running or attempt.started) < CRASH


def _error(told: str) -> str:
    """Return the error itself, where a line of output names it; else the whole text."""
    return _PREFIX.sub("", told)


def _is_late(job: Job, now: datetime) -> bool:
    return job.deadline is not None and now >= job.deadline


def _replaced(job: Job, attempt: Attempt) -> bool:
    """Return True if a new command came while it was live, and its resources were not promised to another job."""
    return attempt.renewed != job.renewed and attempt.stopping is not Cause.PREEMPTED


def _successor(key: AttemptKey, attempt: Attempt) -> Started:
    return Started(
        job=key.job,
        task=key.task,
        attempt=key.attempt + 1,
        runner=attempt.runner,
        tier=attempt.tier,
        workers=len(attempt.workers),
        choice=attempt.choice,
    )


def _outcome(cause: Cause, job: Job, task: Task, attempt: Attempt) -> tuple[JobState, timedelta | None]:
    """Return the next state of the task, and how long it waits before it may start again."""
    if cause is Cause.OK:
        return JobState.SUCCEEDED, None
    if job.cancelled_by or task.cancel:
        return JobState.CANCELLED, None
    if attempt.renewed != job.renewed:  # no matter how the old command ended, the new one has to run
        return JobState.PENDING, None
    if cause is Cause.TIME_LIMIT:
        return JobState.TIMEOUT, None
    if cause in FAILURES:
        before = 0 if attempt.progressed else task.failures
        if before + 1 >= job.max_tries:
            return JobState.FAILED, None
        return JobState.PENDING, timedelta(seconds=job.retry_interval_s)
    if cause in (Cause.LOST, Cause.VOID):
        return JobState.PENDING, _backoff(task.losses)
    return JobState.PENDING, None


def _backoff(losses: int) -> timedelta | None:
    """Return the pause after repeated losses: none at first, then 30 s, 90 s, 270 s, at most 15 min.

    Infrastructure that fails again and again is tried ever less often.
    """
    return timedelta(seconds=min(900, 30 * 3 ** (losses - 1))) if losses else None


def _told(worker: Worker) -> str:
    what = f"exit code {worker.exit_code}" if worker.exit_code is not None else str(worker.cause)
    if worker.cause is Cause.TIME_LIMIT:
        what = "time limit reached"
    elif worker.cause is Cause.OOM:
        what = "out of memory"
    elif worker.cause is Cause.SETUP:
        what = "set-up failed"
    return f"{what}: {worker.message}" if worker.message else what


def _lost(workers: list[Worker]) -> str:
    gone = [str(index) for index, worker in enumerate(workers) if worker.gone and worker.cause is None]
    told = next((worker.message for worker in workers if worker.message), "")
    if told:
        return told
    return f"the machine of worker {', '.join(gone)} is gone" if gone else "lost"


def forget(
    state: State, listed: frozenset[str], now: datetime, cut: frozenset[str] = frozenset()
) -> Iterator[Forgotten]:
    """Yield the request ids that no client can ask about any more.

    `listed` are the ids in a listing of the inbox taken now. For users in `cut` that listing is incomplete. An id is
    kept for a day, for as long as the inbox still shows it, and for as long as its job is in the state.
    """
    kept = {job.request for job in state.jobs.values()} | listed
    aged = takewhile(lambda known: now - known[1] > KEEP_REQUESTS, state.requests.items())  # oldest first
    old = [request for request, _ in aged if request not in kept and request.partition("/")[0] not in cut]
    for start in range(0, len(old), FORGET_AT_ONCE):
        yield Forgotten(requests=old[start : start + FORGET_AT_ONCE])
