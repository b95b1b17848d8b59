"""Turn the end of a job into the exit code of `launch`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from bastion.model.state.state import ENDED, Cause, Job, JobState, Task

FAILED, NOT_ENDED, CANCELLED, REJECTED, TIME_LIMIT = 100, 101, 103, 104, 124

_CODES = {
    JobState.SUCCEEDED: 0,
    JobState.FAILED: FAILED,
    JobState.CANCELLED: CANCELLED,
    JobState.REJECTED: REJECTED,
    JobState.TIMEOUT: TIME_LIMIT,
}

_OF_CAUSES: Mapping[Cause | None, int] = {
    Cause.OK: 0,
    Cause.CANCELLED: CANCELLED,
    Cause.TIME_LIMIT: TIME_LIMIT,
    Cause.DEADLINE: TIME_LIMIT,
}


def code(job: Job, task: int | None) -> int:
    """Return the exit code of a task, or of the whole job if `task` is None.

    It is the program's own exit code, 1 to 99, where that made the job fail. If tasks of an array failed with different
    codes, the array has 100.
    """
    if task is not None:
        return _task_code(job.task_state(task), job.tasks.get(task))
    if not ended(job, None):
        return NOT_ENDED
    if job.state is not JobState.FAILED:
        return _CODES[job.state]
    codes = {_task_code(t.state, t) for t in job.tasks.values() if t.state is JobState.FAILED}
    return codes.pop() if len(codes) == 1 else FAILED


def ended(job: Job, task: int | None) -> bool:
    """Return True if nothing of the task, or of the whole job if `task` is None, will run any more."""
    return (job.state if task is None else job.task_state(task)) in ENDED


def _task_code(state: JobState, task: Task | None) -> int:
    if state not in ENDED:
        return NOT_ENDED
    last = task.attempts[-1] if task and task.attempts else None
    if state is JobState.FAILED and last:
        return of_attempt(last.cause, last.exit_code)
    return _CODES[state]


def of_attempt(cause: Cause | None, exit_code: int | None) -> int:
    """Return the exit code of an attempt that is the only one or the last."""
    if cause is Cause.CODE and exit_code is not None and 1 <= exit_code <= 99:
        return exit_code
    return _OF_CAUSES.get(cause, FAILED)
