"""Compute usage: what projects are promised, what they hold, and how much of it is borrowed. Pure.

Resources that are kept for the next try of a task count as held, as far as there is room for them beside live attempts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, minus, plus, total
from bastion.quota.shares import Shares

from ..journal.attempts import shape
from ..model.state.state import Job, State
from .held_work import kept
from .plan import current_capacity, inputs


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectUsage:
    """The usage of one kind by one project, in whole units.

    project: the project; or the holder that stands for members who left it.
    kind: the kind of resource.
    share: what the project is promised.
    used: what it holds.
    borrowed: what it holds beyond its share.
    """

    project: str
    kind: str
    share: int
    used: int
    borrowed: int


def held(state: State, quota: Quota) -> dict[str, Resources]:
    """Return what every project holds now, attempts that are stopping included.

    What former members of a project hold is a row of its own.
    """
    found: dict[str, Resources] = {}
    for _, job, _ in state.live_attempts():
        holder = quota.holder(job.user, job.project)
        found[holder] = plus(found.get(holder, {}), job.demand)
    if rows := list(_kept(state, quota)):
        free = minus(shares(state, quota).capacity, total(found.values()))
        for job, demand in rows:
            if fits(demand, free):
                found[job.project], free = plus(found.get(job.project, {}), demand), minus(free, demand)
    return found


def _kept(state: State, quota: Quota) -> Iterator[tuple[Job, Resources]]:
    """Yield what the policy keeps for next tries, at the journal's time: no later time is known."""
    if state.now is None or state.paused is not None or inputs(state).config.policy != "default":
        return
    for job_id in state.pending:
        job = state.jobs[job_id]
        for number in kept(state, job, quota, state.now):
            yield job, shape(job, job.tasks[number].attempts[-1].choice).demand


def shares(state: State, quota: Quota) -> Shares:
    """Return what the quota promises of the fleet, as the runners of the settings reported it last."""
    return Shares(quota, current_capacity(state, replace(inputs(state), quota=quota)).total())


def usage(state: State, quota: Quota) -> list[ProjectUsage]:
    """Return one row for each project and kind that has a share or is held, sorted by name."""
    promised, holds = shares(state, quota), held(state, quota)
    rows = []
    for project in sorted({*quota.shares, *holds}):
        units, used = promised.units(project), holds.get(project, {})
        borrowed = promised.borrowed(project, used)
        for kind in sorted({*units, *used}):
            row = (units.get(kind, 0), used.get(kind, 0), borrowed.get(kind, 0))
            rows.append(ProjectUsage(project=project, kind=kind, share=row[0], used=row[1], borrowed=row[2]))
    return rows
