"""Indices of dependencies and deadlines: an end or a deadline costs no more than the jobs that it concerns.

Pure but for the state it changes. `Job.after` holds the open conditions of a job. A condition is settled when the job
or task that it names ends, and that never changes again.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from ..job.start_conditions import ANY, KINDS, OK, Condition, condition
from .state import ENDED, Job, JobState, State

REASON_MAX = 200
"""The most characters of one job's reason that go into the reason of a job that depended on it."""

BAD = ENDED - {JobState.SUCCEEDED}


def enter(state: State, job: Job, wanted: Iterable[Condition]) -> None:
    """Make the job wait for those of these conditions that are open.

    A condition that can never be met dooms the job.
    """
    for each in dict.fromkeys(wanted):
        met = verdict(each, state.jobs.get(each.job))
        if met is None:
            job.after += (str(each),)
            state.dependents.setdefault(each.job, {}).setdefault(str(each), {})[job.id] = None
        elif not met:
            state.doomed.setdefault(job.id, str(each))


def leave(state: State, job: Job) -> None:
    """Remove all dependencies of the job: it waits for no end any more."""
    for text in job.after:
        waited = state.dependents.get(_of(text).job, {})
        waited.get(text, {}).pop(job.id, None)
        _prune(state, _of(text).job, text)
    job.after = ()
    state.doomed.pop(job.id, None)


def settle(state: State, job: Job, task: int | None) -> None:
    """Update the jobs that wait for ends of this job, which may have ended, or for ends of its tasks.

    `task` is the task that may have ended; None: any of them. A job whose condition is met goes on; a job whose
    condition can never be met is doomed.
    """
    waited = state.dependents.get(job.id)
    if waited is None:
        return
    for text in list(waited) if task is None else [text for text in _about(job.id, task) if text in waited]:
        met = verdict(_of(text), job)
        if met is not None:
            for name in waited.pop(text):
                _tell(state, state.jobs[name], text, met=met)
            _prune(state, job.id, text)


def verdict(wanted: Condition, job: Job | None) -> bool | None:
    """Return True if the condition is met, False if it can never be, None while it is open or the job is unknown."""
    if job is None:
        return None
    if wanted.task is None:
        over, bad = job.ended is not None, any(job.counts.get(where) for where in BAD)
    else:
        over, bad = job.task_state(wanted.task) in ENDED, job.task_state(wanted.task) in BAD
    if wanted.kind == ANY:
        return over or None
    if wanted.kind == OK:
        return False if bad else over or None
    return bad if over else None


def faults(wanted: Iterable[Condition], own: str, jobs: Mapping[str, Job]) -> Iterator[str]:
    """Yield the reasons why a job with the id `own` cannot wait for these conditions."""
    for each in wanted:
        job = jobs.get(each.job)
        if each.job == own:
            yield f"after has {each}: a job cannot wait for itself"
        elif job is None:
            yield f"after has {each}: there is no job {each.job}; use the id of one that is submitted before or with it"
        elif job.rest is JobState.REJECTED:
            yield f"after has {each}: {each.job} was rejected, so no job can wait for it"
        elif each.task is not None and each.task >= job.count:
            yield f"after has {each}: {each.job} has {job.count} tasks, numbered from 0"


def leads_to(state: State, wanted: Iterable[Condition], job: str) -> bool:
    """Return True if one of these conditions depends, through others, on the job itself. Visits all dependencies."""
    met = {each.job for each in wanted}
    ahead = list(met)
    while ahead:
        other = state.jobs.get(ahead.pop())
        for text in other.after if other else ():
            if (name := _of(text).job) not in met:
                met.add(name)
                ahead.append(name)
    return job in met


def in_vain(jobs: Mapping[str, Job], text: str) -> str:
    """Explain in words why a condition can never be met."""
    wanted = _of(text)
    job = jobs[wanted.job]
    if wanted.task is not None:
        told = f"it ended as {job.task_state(wanted.task)}"
    elif job.count > 1:
        ends = {where: number for where, number in job.counts.items() if where in ENDED}
        told = f"of its {job.count} tasks ended {', '.join(f'{number} as {where}' for where, number in sorted(ends.items()))}"
    else:
        why = f"cancelled by {job.cancelled_by}" if job.cancelled_by else job.reason[:REASON_MAX]
        told = f"it ended as {job.state}" + (f" ({why})" if why else "")
    return f"{text} can never be met: {told}"


def set_deadline(state: State, job: Job, deadline: datetime | None) -> None:
    """Set or remove the deadline of a job that has not ended."""
    drop_deadline(state, job)
    job.deadline = deadline
    if deadline is not None:
        insort(state.deadlines, (deadline, job.id))


def drop_deadline(state: State, job: Job) -> None:
    """Remove the job's deadline from the index."""
    if job.deadline is not None:
        del state.deadlines[bisect_left(state.deadlines, (job.deadline, job.id))]


def _tell(state: State, job: Job, text: str, *, met: bool) -> None:
    if not met:
        state.doomed.setdefault(job.id, text)
        return
    job.after = tuple(other for other in job.after if other != text)
    if not job.after:  # attempts that would be stopped for it get their time to end by themselves from now on
        assert state.now is not None
        job.since = state.now


def _prune(state: State, job: str, text: str) -> None:
    """Forget a condition if no job waits for it."""
    waited = state.dependents.get(job, {})
    if not waited.get(text):
        waited.pop(text, None)
    if not waited:
        state.dependents.pop(job, None)


def _about(job: str, task: int) -> Iterator[str]:
    """Yield the conditions that the end of this task may settle."""
    for kind in KINDS:
        yield f"{kind}:{job}"
        yield f"{kind}:{job}[{task}]"


def _of(text: str) -> Condition:
    found = condition(text)
    assert found is not None, text
    return found
