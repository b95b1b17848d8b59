"""What a job waits for beside room: others' ends, moments, its own other tasks. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bastion.model.job.start_conditions import conditions
from bastion.model.state.state import Job, State
from bastion.model.wording import clock


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitedEnd:
    """An end that is still to come: the condition, and how the job stands, or the task of it; empty if it is not known."""

    condition: str
    job: str
    task: int | None
    user: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """All of it. `live` tasks hold resources of at most `max_parallel` at once."""

    after: tuple[AwaitedEnd, ...]
    begin: datetime | None
    deadline: datetime | None
    max_parallel: int | None
    live: int


def timing(state: State, job: Job) -> Timing | None:
    """What the user said of it; None for most jobs."""
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
    """As lines for people: a word, and what there is to say of it."""
    for row in timing.after:
        yield "after", f"{row.condition}" + (f": it is {row.state}, of {row.user}" if row.state else "")
    if timing.begin and timing.begin > now:
        yield "begins", f"{clock(timing.begin, now)}, not before"
    if timing.deadline:
        yield "deadline", f"{clock(timing.deadline, now)}: what has not ended by then is ended"
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
