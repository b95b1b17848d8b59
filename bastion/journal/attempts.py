"""Apply the events of attempts to the state, and keep the counters of their jobs. Pure but for what it changes.

Each function for an event first checks that the event is legal, and only then changes anything. It raises `IllegalMove`
for an illegal one. The counters of a job are its tasks by state, whether it has ended, and the build of its image that
it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..model.errors import IllegalMove
from ..model.interfaces import BuildResult
from ..model.job.alternatives import Alternative
from ..model.job.image_ref import log_link
from ..model.job.spec import BundleRef
from ..model.state import job_dependencies
from ..model.state.state import ENDED, Attempt, AttemptState, Cause, Job, JobState, State, Task, Worker, tally
from ..model.state.transitions import ATTEMPT_MOVES, FAILURES, MOVES
from ..model.stored.events import (
    AttemptEvent,
    AttemptLost,
    Claimed,
    Ended,
    Exited,
    Gone,
    ImageBuilt,
    Lapsed,
    Moved,
    Saved,
    Started,
    Stopping,
    Voided,
    Waiting,
)
from . import recent_usage


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
    attempt = Attempt(
        number=event.attempt,
        choice=event.choice,
        runner=event.runner,
        tier=event.tier,
        overdue=event.overdue,
        started=state.now,
        renewed=job.renewed,
        workers=[Worker() for _ in range(event.workers)],
    )
    recent_usage.begins(state, job, attempt)
    job.tasks[event.task] = task
    task.attempts.append(attempt)
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
    recent_usage.ends(state, job, attempt)
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


def _attempt(state: State, event: AttemptEvent) -> tuple[Job, Task, Attempt]:
    job = job_of(state, event.job)
    task = job.tasks.get(event.task)
    if task is None or task.live is None or task.live.number != event.attempt:
        raise IllegalMove(f"{event.key} is not live")
    return job, task, task.live


def _worker(state: State, event: AttemptEvent, number: int) -> tuple[Job, Task, Attempt, Worker]:
    job, task, attempt = _attempt(state, event)
    if not 0 <= number < len(attempt.workers):
        raise IllegalMove(f"{event.key} has no worker {number}")
    return job, task, attempt, attempt.workers[number]


def _legal(table: Any, now: Any, then: Any, event: AttemptEvent) -> None:
    if then not in table[now]:
        raise IllegalMove(f"{event.key} cannot go from {now} to {then}")


def job_of(state: State, job_id: str) -> Job:
    """Return the job. Raises `IllegalMove` if there is none."""
    if job_id not in state.jobs:
        raise IllegalMove(f"there is no job {job_id}")
    return state.jobs[job_id]


def standing(state: State) -> dict[str, int]:
    """Count the tasks of all jobs that have not ended, by state. This passes over all of these jobs."""
    out: dict[str, int] = {}
    for job_id in {**state.pending, **state.live}:
        for where, number in state.jobs[job_id].counts.items():
            out[where] = out.get(where, 0) + number
    return out


def move(job: Job, number: int, to: JobState) -> None:
    """Set the state of a task, and update the counters of its job."""
    task = job.tasks[number]
    _count(job, task.state, -1)
    _count(job, to, +1)
    task.state = to
    if to is JobState.PENDING:
        job.waiting[number] = None
    else:
        job.waiting.pop(number, None)
    while job.fresh < job.count and job.fresh in job.tasks:
        job.fresh += 1


def choose(job: Job, choice: int) -> None:
    """Set the choice of the job: it holds, or waits for, this shape from now on."""
    if job.choices:
        shape = job.choices[choice]
        job.choice, job.resources, job.replicas = choice, shape.resources, shape.replicas


def shape(job: Job, choice: int) -> Alternative:
    """Return the shape of the attempts of this choice."""
    return job.choices[choice] if job.choices else Alternative(resources=dict(job.resources), replicas=job.replicas)


def close(job: Job, to: JobState) -> None:
    """End all pending tasks of the job with this state."""
    for number in list(job.waiting):
        move(job, number, to)
    untouched = job.counts.get(JobState.PENDING, 0)
    if job.rest is JobState.PENDING:
        job.rest = to
    if untouched:
        _count(job, JobState.PENDING, -untouched)
        _count(job, to, untouched)


def _count(job: Job, state: JobState, change: int) -> None:
    counts = {**job.counts, state: job.counts.get(state, 0) + change}
    job.counts = tally({state: number for state, number in counts.items() if number})


def settle(state: State, job: Job, task: int | None = None) -> None:
    """Update the indexes after a task has moved: pending jobs, ended jobs, and jobs that waited for this end.

    `task` is the task that moved; None: any of them.
    """
    if job.counts.get(JobState.PENDING):
        state.pending[job.id] = None
    else:
        state.pending.pop(job.id, None)
        state.reclaims.pop(job.id, None)
    if job.ended is None and job.counts.keys() <= ENDED:
        job.ended = state.now
        if state.counted:
            state.counted.leave(job.user, job.count)
        job_dependencies.leave(state, job)
        leave_build(state, job)
        job_dependencies.drop_deadline(state, job)
    job_dependencies.settle(state, job, task)


def await_build(state: State, job: Job, bundle: BundleRef) -> None:
    """Let the job wait for the build of its bundle, if its image has no digest yet."""
    if bundle.build and not bundle.digest:
        job.build = bundle.build
        state.builds.setdefault(bundle.build, {})[job.id] = bundle.image


def leave_build(state: State, job: Job) -> None:
    """Stop waiting for a build."""
    if job.build:
        waiting = state.builds[job.build]
        del waiting[job.id]
        if not waiting:
            del state.builds[job.build]
        job.build = ""


def built(state: State, event: ImageBuilt, *_at: int) -> None:
    """Give the job its image.

    It counts as waiting only from now on. So other jobs get time to end by themselves before they are stopped for it.
    """
    job = state.jobs.get(event.job)
    if job is None or not job.build:
        raise IllegalMove(f"{event.job} waits for no build")
    assert state.now is not None
    leave_build(state, job)
    job.digest, job.since = event.digest, state.now


def build_ended(state: State, build: str, end: BuildResult) -> Iterator[ImageBuilt | Lapsed]:
    """Yield what the end of a build means for the jobs that wait for it."""
    for job, name in tuple(state.builds.get(build, {}).items()):
        if digest := end.images.get(name):
            yield ImageBuilt(job=job, digest=digest)
        else:
            told = end.problem or f"the build made no {name}"
            reason = f"the image could not be built: {told}; log: {log_link(build)}"
            yield Lapsed(job=job, outcome=JobState.FAILED, reason=reason)
