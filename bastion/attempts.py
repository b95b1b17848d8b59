"""Events of attempts, taken into the state: each checks first that it is legal, and only then changes anything. Pure."""

from __future__ import annotations

from typing import Any

from bastion.books import job_of, move, settle
from bastion.errors import IllegalMove
from bastion.events import Claimed, Ended, Exited, Gone, OfAttempt, Started, Stopping, Voided
from bastion.state import (
    ATTEMPT_MOVES,
    FAILURES,
    MOVES,
    Attempt,
    AttemptState,
    Cause,
    Job,
    JobState,
    State,
    Task,
    Worker,
)


def started(state: State, event: Started, *_at: int) -> None:
    """Resources are promised: a new attempt of a task that waits."""
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
    _legal(MOVES, task.state, JobState.PROVISIONING, event)
    job.tasks[event.task] = task
    task.attempts.append(
        Attempt(
            number=event.attempt,
            runner=event.runner,
            tier=event.tier,
            started=state.now,
            renewed=job.renewed,
            workers=[Worker() for _ in range(event.workers)],
        )
    )
    task.ready_at = None
    move(job, event.task, JobState.PROVISIONING)
    state.live.setdefault(job.id, {})[event.task] = None
    state.reclaims.pop(job.id, None)
    settle(state, job)


def claimed(state: State, event: Claimed, *_at: int) -> None:
    """A worker is there; with the last of them the attempt runs."""
    job, _, attempt, worker = _worker(state, event, event.worker)
    if worker.seen or worker.over:
        raise IllegalMove(f"{event.key} worker {event.worker} was seen or voided before")
    worker.machine, worker.address, worker.port = event.machine, event.address, event.port
    if attempt.state is AttemptState.STARTING and all(w.seen for w in attempt.workers):
        attempt.state = AttemptState.RUNNING
        attempt.running = state.now
        move(job, event.task, JobState.RUNNING)


def voided(state: State, event: Voided, *_at: int) -> None:
    """A worker can never come."""
    worker = _worker(state, event, event.worker)[3]
    if worker.seen or worker.over:
        raise IllegalMove(f"{event.key} worker {event.worker} was seen or voided before")
    worker.voided = True


def exited(state: State, event: Exited, *_at: int) -> None:
    """A worker's process ended; only its first end counts."""
    _, _, attempt, worker = _worker(state, event, event.worker)
    if worker.cause is not None:
        raise IllegalMove(f"{event.key} worker {event.worker} has ended before")
    worker.cause, worker.exit_code, worker.message = event.cause, event.exit_code, event.message
    attempt.step = event.step if event.step is not None else attempt.step


def gone(state: State, event: Gone, *_at: int) -> None:
    """A worker's machine is no more."""
    worker = _worker(state, event, event.worker)[3]
    if not worker.seen or worker.over:
        raise IllegalMove(f"{event.key} worker {event.worker} was never seen, or is gone before")
    worker.gone = True


def stopping(state: State, event: Stopping, *_at: int) -> None:
    """The attempt is to end; room is held for whom it was stopped for."""
    job, task, attempt = _attempt(state, event)
    _legal(ATTEMPT_MOVES, attempt.state, AttemptState.STOPPING, event)
    attempt.state = AttemptState.STOPPING
    attempt.stopping, attempt.deadline, attempt.exit_code = event.cause, event.deadline, event.exit_code
    attempt.for_job, attempt.reason, attempt.grace_s = event.for_job, event.reason, job.grace_s
    shown = _SHOWN.get(event.cause)
    if job.cancelled_by or task.cancel:
        shown = JobState.CANCELLING
    if shown:
        move(job, event.task, shown)
    if event.for_job in state.pending:
        assert state.now is not None
        state.reclaims.setdefault(event.for_job, state.now)


def ended(state: State, event: Ended, *_at: int) -> None:
    """Nothing of the attempt can run: its task goes where the event says."""
    job, task, attempt = _attempt(state, event)
    if not all(worker.over for worker in attempt.workers):
        raise IllegalMove(f"{event.key} has workers that may still run")
    _legal(MOVES, task.state, event.outcome, event)
    attempt.state, attempt.cause, attempt.exit_code = AttemptState.ENDED, event.cause, event.exit_code
    attempt.reason, attempt.ended = event.reason, state.now
    task.failures += event.cause in FAILURES
    task.losses = task.losses + 1 if event.cause in (Cause.LOST, Cause.VOID) else 0
    task.ready_at = event.ready_at
    if event.outcome is JobState.PENDING and not job.counts.get(JobState.PENDING):
        assert state.now is not None
        job.since = state.now
    move(job, event.task, event.outcome)
    live = state.live[job.id]
    del live[event.task]
    if not live:
        del state.live[job.id]
    job.reason = event.reason
    settle(state, job)


_SHOWN = {
    Cause.PREEMPTED: JobState.PREEMPTING,
    Cause.UPDATED: JobState.PREEMPTING,
    Cause.CANCELLED: JobState.CANCELLING,
}
"""What a job is shown as while its attempt is stopped for this cause."""


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
