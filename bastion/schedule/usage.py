"""Usage: projects, their shares, what they hold and what of it is borrowed. Pure.

What is kept for the next try of a task counts as held, as far as there is room for it beside what runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, minus, plus, total
from bastion.quota.shares import Shares

from ..journal.task_counters import shape
from ..model.state.state import Job, State
from .held_work import kept
from .plan import inputs, pool_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """What a project holds of one kind, in units. `share` is what it is promised, `borrowed` what it holds beyond."""

    project: str
    kind: str
    share: int
    used: int
    borrowed: int


def held(state: State, quota: Quota) -> dict[str, Resources]:
    """What every project holds now, stopping attempts included; and apart from that, what those hold who left it."""
    found: dict[str, Resources] = {}
    for _, job, _ in state.live_attempts():
        holder = quota.holder(job.user, job.project)
        found[holder] = plus(found.get(holder, {}), job.demand)
    if rows := list(_kept(state, quota)):
        free = minus(shares(state, quota).pool, total(found.values()))
        for job, demand in rows:
            if fits(demand, free):
                found[job.project], free = plus(found.get(job.project, {}), demand), minus(free, demand)
    return found


def _kept(state: State, quota: Quota) -> Iterator[tuple[Job, Resources]]:
    """The room that the policy keeps for next tries, at the journal's time: a later one is not known."""
    if state.now is None or state.paused is not None or inputs(state).config.policy != "default":
        return
    for job_id in state.pending:
        job = state.jobs[job_id]
        for number in kept(state, job, quota, state.now):
            yield job, shape(job, job.tasks[number].attempts[-1].choice).demand


def shares(state: State, quota: Quota) -> Shares:
    """What the quota promises of the fleet as runners reported it last, to whom the settings send jobs."""
    return Shares(quota, pool_of(state, replace(inputs(state), quota=quota)).total())


def usage(state: State, quota: Quota) -> list[Use]:
    """One row for each project and kind that has a share or is held, in order of the names."""
    promised, holds = shares(state, quota), held(state, quota)
    rows = []
    for project in sorted({*quota.shares, *holds}):
        units, used = promised.units(project), holds.get(project, {})
        borrowed = promised.borrowed(project, used)
        for kind in sorted({*units, *used}):
            row = (units.get(kind, 0), used.get(kind, 0), borrowed.get(kind, 0))
            rows.append(Use(project=project, kind=kind, share=row[0], used=row[1], borrowed=row[2]))
    return rows
