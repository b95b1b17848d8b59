"""The position of a job among the pending ones, and the jobs that go first. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

from bastion.model.state.state import Job, JobState, State
from bastion.quota.policy.reasons import impossible
from bastion.quota.resources import Resources
from bastion.quota.shares import amounts
from bastion.schedule.plan import Plan

Use = tuple[float, float]  # recent use, in parts of the capacity times hours; present use, as a part of it
NOTHING: Use = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePosition:
    """The position of a pending job.

    place: its position among the jobs of its project; 1: the next.
    of: number of pending jobs of its project.
    waiting: number of pending jobs of all projects.
    """

    place: int
    of: int
    waiting: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobAhead:
    """A job of the same project that goes first.

    job: id of the job.
    user: its user.
    resources: demand of one task.
    priority: its priority.
    tasks: number of its pending tasks.
    why: why it goes first.
    """

    job: str
    user: str
    resources: Resources
    priority: int
    tasks: int
    why: str


def line(state: State, job: Job, answer: Plan, partitions: Sequence[Resources]) -> list[Job]:
    """List the pending jobs of the project in the order of the decision. Empty if the decision does not consider `job`.

    Jobs that others are stopped for come first, then jobs that start. Other jobs that can never start are left out.
    """
    told = answer.schedule.reasons
    first = (*kept(state, answer), *(start.job for start in answer.schedule.starts))
    order = dict.fromkeys([name for name in first if name in state.pending]) | dict.fromkeys(told)
    own = [other for other in map(state.jobs.__getitem__, order) if other.project == job.project]
    return (
        [other for other in own if other is job or not impossible(amounts(other.demand), partitions)]
        if job in own
        else []
    )


def kept(state: State, answer: Plan) -> dict[str, None]:
    """Return the jobs for which others are being stopped."""
    return dict.fromkeys([*state.reclaims, *(stop.for_job for stop in answer.schedule.stops if stop.for_job)])


def place(state: State, job: Job, order: list[Job]) -> QueuePosition | None:
    """Return the position of the job in that order; None if it is not there."""
    if job not in order:
        return None
    return QueuePosition(place=order.index(job) + 1, of=len(order), waiting=len(state.pending))


def ahead(job: Job, order: list[Job], uses: Mapping[str, Use], kept: Container[str]) -> Iterator[JobAhead]:
    """Yield the jobs before this one.

    `uses` is the recent and the present use of each user of the project. Others are stopped for the jobs in `kept`.
    """
    for other in order[: order.index(job)] if job in order else ():
        yield JobAhead(
            job=other.id,
            user=other.user,
            resources=other.demand,
            priority=other.priority,
            tasks=other.counts.get(JobState.PENDING, 0),
            why="others are stopped for it" if other.id in kept else _why(other, job, uses),
        )


def _why(other: Job, job: Job, uses: Mapping[str, Use]) -> str:
    """Say what puts the other job first, by the rules in the order in which they count."""
    if other.job_class != job.job_class:
        return f"{other.job_class} before {job.job_class}"
    if other.priority != job.priority:
        return f"priority {other.priority} before {job.priority}"
    theirs, own = uses.get(other.user, NOTHING), uses.get(job.user, NOTHING)
    if other.user != job.user and (theirs[0] < own[0] or theirs[1] < own[1]):
        return f"{other.user} used less recently than {job.user}"
    if other.order > job.order or theirs != own:
        return "its turn comes first"
    return "submitted earlier" if other.place is None and job.place is None else "it has a better place (launch top)"
