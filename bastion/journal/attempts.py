"""Apply the events of attempts to the state. Pure.

Each function first checks that the event is legal, and only then changes anything. It raises `IllegalMove` for an
illegal one.
"""

from __future__ import annotations

from typing import Any

from ..model.errors import IllegalMove
from ..model.state.state import Attempt, AttemptState, Cause, Job, JobState, State, Task, Worker
from ..model.state.transitions import ATTEMPT_MOVES, FAILURES, MOVES
from ..model.stored.events import (
    AttemptLost,
    Claimed,
    Ended,
    Exited,
    Gone,
    Moved,
    OfAttempt,
    Saved,
    Started,
    Stopping,
    Voided,
    Waiting,
)
from . import recent_usage
from .task_counters import choose, job_of, move, settle


def started(state: State, event: Started, *_at: int) -> None:
    """Begin a new attempt of a pending task. Its resources are promised from here on."""
    assert state.now is not None
    job = job_of(state, event.job)
    task = job.tasks.get(event.task) or Task()
    if event.task not in job.tasks and (job.rest is not JobState.PENDING or not 0 <= event.task < job.count):
        raise IllegalMove(f"{job.id} has no task {event.task} that waits")
    if event.attempt != len(task.attempts):
        raise IllegalMove(f"{event.key} does not follow attempt {len(task.attempts) - 1}")
    if event.workers < 1:
        raise IllegalMove(f"{event.key} has no worker")
    if state.paused is not None:
        raise IllegalMove(f"the bastion is paused by {state.paused}")
    if job.held is not None:
        raise IllegalMove(f"{job.id} is held by {job.held}")
    if job.after or job.id in state.doomed:
        raise IllegalMove(f"{job.id} waits for {', '.join(job.after) or state.doomed[job.id]}")
    _legal(MOVES, task.state, JobState.PROVISIONING, event)
    if not 0 <= event.choice < max(1, len(job.choices)) or (job.id in state.live and event.choice != job.choice):
        raise IllegalMove(f"{event.key} cannot be of choice {event.choice}; {job.id} is of choice {job.choice}")
    choose(job, event.choice)
    recent_usage.begins(state, job)
    job.tasks[event.task] = task
    task.attempts.append(
        Attempt(
            number=event.attempt,
            choice=event.choice,
            runner=event.runner,
            tier=event.tier,
            overdue=event.overdue,
            started=state.now,
            renewed=job.renewed,
            workers=[Worker() for _ in range(event.workers)],
        )
    )
    task.ready_at = None
    move(job, event.task, JobState.PROVISIONING)
    state.live.setdefault(job.id, {})[event.task] = None
    state.reclaims.pop(job.id, None)
    settle(state, job, event.task)


def claimed(state: State, event: Claimed, *_at: int) -> None:
    """Enter a worker that has claimed. With the last of them the attempt runs."""
    job, _, attempt, worker = _worker(state, event, event.worker)
    if worker.seen or worker.over:
        raise IllegalMove(f"{event.key} worker {event.worker} was seen or voided before")
    worker.machine, worker.address, worker.port = event.machine, event.address, event.port
    if attempt.state is AttemptState.STARTING and all(w.seen for w in attempt.workers):
        attempt.state, attempt.waits_for = AttemptState.RUNNING, ""
        attempt.running = state.now
        move(job, event.task, JobState.RUNNING)


def waiting(state: State, event: Waiting, *_at: int) -> None:
    """Enter what the machines of the attempt wait for."""
    attempt = _attempt(state, event)[2]
    if attempt.state is not AttemptState.STARTING:
        raise IllegalMove(f"{event.key} is {attempt.state}; it waits for no machines")
    attempt.waits_for, attempt.waited = event.reason, state.now


def voided(state: State, event: Voided, *_at: int) -> None:
    """Enter that a worker can never come."""
    worker = _worker(state, event, event.worker)[3]
    if worker.seen or worker.over:
        raise IllegalMove(f"{event.key} worker {event.worker} was seen or voided before")
    worker.voided = True


def exited(state: State, event: Exited, *_at: int) -> None:
    """Enter the end of a worker's process. Only its first end counts."""
    _, _, attempt, worker = _worker(state, event, event.worker)
    if worker.cause is not None:
        raise IllegalMove(f"{event.key} worker {event.worker} has ended before")
    worker.cause, worker.exit_code, worker.message = event.cause, event.exit_code, event.message
    if event.cause is Cause.OK and attempt.finishing is None and attempt.at_work:
        attempt.finishing = state.now
    attempt.step = event.step if event.step is not None else attempt.step
    attempt.advanced = attempt.advanced or event.saved
    # The process can have started long before its claim was read.
    if event.started and attempt.running and event.started < attempt.running:
        attempt.running = event.started
    if event.ended:
        attempt.finished = max(event.ended, attempt.finished or event.ended)


def gone(state: State, event: Gone, *_at: int) -> None:
    """Enter that a worker's machine is gone."""
    worker = _worker(state, event, event.worker)[3]
    if not worker.seen or worker.over:
        raise IllegalMove(f"{event.key} worker {event.worker} was never seen, or is gone before")
    worker.gone = True


def saved(state: State, event: Saved, *_at: int) -> None:
    """Enter a checkpoint that was not foreseen, or the absence of one that was."""
    attempt = _attempt(state, event)[2]
    if event.every_s is not None and not event.every_s >= 1:
        raise IllegalMove(f"{event.key} cannot be saved every {event.every_s} s")
    attempt.saved, attempt.every_s = event.at, event.every_s


def stopping(state: State, event: Stopping, *_at: int) -> None:
    """Begin to stop the attempt. What it frees is kept for the job that it is stopped for."""
    job, task, attempt = _attempt(state, event)
    _legal(ATTEMPT_MOVES, attempt.state, AttemptState.STOPPING, event)
    attempt.state, attempt.lost_s, attempt.waits_for = AttemptState.STOPPING, event.lost_s, ""
    attempt.stopping, attempt.deadline, attempt.exit_code = event.cause, event.deadline, event.exit_code
    attempt.for_job, attempt.reason, attempt.grace_s = event.for_job, event.reason, job.grace_s
    shown = _SHOWN.get(event.cause)
    if job.cancelled_by or task.cancel:
        shown = JobState.CANCELLING
    if shown:
        move(job, event.task, shown)
    if event.for_job in state.pending:  # not for a stop without another job behind it
        assert state.now is not None
        state.reclaims.setdefault(event.for_job, state.now)


def moved(state: State, event: Moved, *_at: int) -> None:
    """Account what the attempt holds to another tier."""
    _, _, attempt = _attempt(state, event)
    if attempt.state in (AttemptState.STOPPING, AttemptState.ENDED) or event.tier < 0:
        raise IllegalMove(f"{event.key} is {attempt.state}; it cannot move to tier {event.tier}")
    attempt.tier = event.tier


def ended(state: State, event: Ended, *_at: int) -> None:
    """End the attempt: nothing of it can run any more. The task takes the state that the event names."""
    job, task, attempt = _attempt(state, event)
    if not all(worker.over for worker in attempt.workers):
        raise IllegalMove(f"{event.key} has workers that may still run")
    _legal(MOVES, task.state, event.outcome, event)
    if event.progressed:
        task.failures = 0
    recent_usage.ends(state, job)
    attempt.state, attempt.cause, attempt.exit_code = AttemptState.ENDED, event.cause, event.exit_code
    attempt.reason, attempt.ended = event.reason, state.now
    task.failures += event.cause in FAILURES
    task.losses = task.losses + 1 if event.cause in (Cause.LOST, Cause.VOID) else 0
    task.stops += event.cause is Cause.PREEMPTED
    task.ready_at = event.ready_at
    if event.outcome is JobState.PENDING and not job.counts.get(JobState.PENDING):
        assert state.now is not None
        job.since = state.now
    move(job, event.task, event.outcome)
    live = state.live[job.id]
    del live[event.task]
    if not live:
        del state.live[job.id]
        choose(job, 0)
    job.reason = event.reason
    settle(state, job, event.task)


def lost(state: State, event: AttemptLost, *_at: int) -> None:
    """Give its number to an attempt of which nothing else is left. The state of the task does not change."""
    assert state.now is not None
    job = job_of(state, event.job)
    fresh = event.task not in job.tasks
    task = job.tasks.get(event.task) or Task(state=job.rest)
    if fresh and not 0 <= event.task < job.count:
        raise IllegalMove(f"{job.id} has no task {event.task}")
    if task.live or event.attempt != len(task.attempts):
        raise IllegalMove(f"{event.key} does not follow attempt {len(task.attempts) - 1}, or that one is live")
    job.tasks[event.task] = task
    task.attempts.append(
        Attempt(
            number=event.attempt,
            state=AttemptState.ENDED,
            runner="",
            started=state.now,
            ended=state.now,
            cause=Cause.LOST,
            reason=event.reason,
        )
    )
    if fresh:  # the task becomes an object now, so the counters and indexes must learn of it
        move(job, event.task, task.state)
        settle(state, job, event.task)


_SHOWN = {
    Cause.PREEMPTED: JobState.PREEMPTING,
    Cause.UPDATED: JobState.PREEMPTING,
    Cause.CANCELLED: JobState.CANCELLING,
}
"""The state that a job shows while its attempt is stopped for this cause."""


def _attempt(state: State, event: OfAttempt) -> tuple[Job, Task, Attempt]:
    job = job_of(state, event.job)
    task = job.tasks.get(event.task)
    if task is None or task.live is None or task.live.number != event.attempt:
        raise IllegalMove(f"{event.key} is not live")
    return job, task, task.live


def _worker(state: State, event: OfAttempt, number: int) -> tuple[Job, Task, Attempt, Worker]:
    job, task, attempt = _attempt(state, event)
    if not 0 <= number < len(attempt.workers):
        raise IllegalMove(f"{event.key} has no worker {number}")
    return job, task, attempt, attempt.workers[number]


def _legal(table: Any, now: Any, then: Any, event: OfAttempt) -> None:
    if then not in table[now]:
        raise IllegalMove(f"{event.key} cannot go from {now} to {then}")
