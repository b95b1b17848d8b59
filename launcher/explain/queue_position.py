"""A job's place among those that wait, and who goes first and why. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bastion.model.state.state import Job, JobState, State
from bastion.quota.policy.reasons import impossible
from bastion.quota.resources import Resources
from bastion.quota.shares import amounts
from bastion.schedule.plan import Plan

Use = tuple[float, float]  # of late, in parts of the pool times hours; and now, as a part of it
NOTHING: Use = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePosition:
    """`place` 1 is the next of `of` jobs of its project that wait; `waiting` jobs wait in all projects together."""

    place: int
    of: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """A job of the same project that goes first, with `tasks` that wait, and why it does."""

    job: str
    user: str
    resources: Resources
    priority: int
    tasks: int
    why: str


def line(state: State, job: Job, answer: Plan, sides: Sequence[Resources]) -> list[Job]:
    """Those of its project that are considered, in this order; but for others that can never start. Empty: it is not.

    Those for whom room is kept go before all, and those that start.
    """
    told = answer.schedule.reasons
    first = (*kept(state, answer), *(start.job for start in answer.schedule.starts))
    order = dict.fromkeys([name for name in first if name in state.pending]) | dict.fromkeys(told)
    own = [other for other in map(state.jobs.__getitem__, order) if other.project == job.project]
    return (
        [other for other in own if other is job or not impossible(amounts(other.demand), sides)] if job in own else []
    )


def kept(state: State, answer: Plan) -> dict[str, None]:
    """The jobs for which others are being stopped."""
    return dict.fromkeys([*state.reclaims, *(stop.for_job for stop in answer.schedule.stops if stop.for_job)])


def place(state: State, job: Job, order: list[Job]) -> QueuePosition | None:
    """Its place in that line."""
    if job not in order:
        return None
    return QueuePosition(place=order.index(job) + 1, of=len(order), waiting=len(state.pending))


def ahead(job: Job, order: list[Job], uses: Mapping[str, Use], kept: Container[str]) -> Iterator[Ahead]:
    """Those before it. `uses` is what each user of the project used of late, and holds; for `kept` ones room is kept."""
    for other in order[: order.index(job)] if job in order else ():
        yield Ahead(
            job=other.id,
            user=other.user,
            resources=other.demand,
            priority=other.priority,
            tasks=other.counts.get(JobState.PENDING, 0),
            why="others are stopped for it" if other.id in kept else _why(other, job, uses),
        )


def _why(other: Job, job: Job, uses: Mapping[str, Use]) -> str:
    """What tells the two apart, in the order in which it counts."""
    if other.job_class != job.job_class:
        return f"{other.job_class} before {job.job_class}"
    if other.priority != job.priority:
        return f"priority {other.priority} before {job.priority}"
    theirs, own = uses.get(other.user, NOTHING), uses.get(job.user, NOTHING)
    if other.user != job.user and (theirs[0] < own[0] or theirs[1] < own[1]):
        return f"{other.user} used less of late than {job.user}"
    if other.order > job.order or theirs != own:
        return "its turn comes first"
    return "submitted earlier" if other.place is None and job.place is None else "it has the better place"
