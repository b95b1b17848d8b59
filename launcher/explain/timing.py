"""The conditions and times that a job's user set: ends of other jobs, times, and the limit of parallel tasks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bastion.model.job.start_conditions import conditions
from bastion.model.state.state import Job, State
from bastion.model.wording import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedEnd:
    """A condition on the end of another job.

    condition: the condition, as the user wrote it with the job's id.
    job: id of the other job.
    task: number of its task; None: the whole job.
    user: user of the other job; empty: unknown.
    state: state of the other job or task; empty: unknown.
    """

    condition: str
    job: str
    task: int | None
    user: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The conditions and times of one job.

    after: conditions on the ends of other jobs.
    begin: earliest start; None: none set.
    deadline: time when the job is stopped; None: none set.
    max_parallel: most tasks that hold resources at once; None: no limit.
    live: number of tasks that hold resources now.
    """

    after: tuple[AwaitedEnd, ...]
    begin: datetime | None
    deadline: datetime | None
    max_parallel: int | None
    live: int


def timing(state: State, job: Job) -> Timing | None:
    """Return the conditions and times of a job; None if it has none, as most jobs, or has ended."""
    if job.ended or not (job.after or job.begin or job.deadline or job.max_parallel):
        return None
    return Timing(
        after=tuple(_awaited(state, job)),
        begin=job.begin,
        deadline=job.deadline,
        max_parallel=job.max_parallel,
        live=len(state.live.get(job.id, ())),
    )


def told(timing: Timing, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield lines for people: a word, and a text."""
    for row in timing.after:
        yield "after", f"{row.condition}" + (f": it is {row.state}, of {row.user}" if row.state else "")
    if timing.begin and timing.begin > now:
        yield "begins", f"{clock(timing.begin, now)}, not before"
    if timing.deadline:
        yield "deadline", f"{clock(timing.deadline, now)}: what has not ended by then is stopped"
    if timing.max_parallel:
        yield "at once", f"{timing.live} of at most {timing.max_parallel} tasks hold resources"


def _awaited(state: State, job: Job) -> Iterator[AwaitedEnd]:
    for wanted in conditions(job.after):
        other = state.jobs.get(wanted.job)
        stands = "" if other is None else other.state if wanted.task is None else other.task_state(wanted.task)
        yield AwaitedEnd(
            condition=str(wanted),
            job=wanted.job,
            task=wanted.task,
            user=other.user if other else "",
            state=str(stands),
        )
