"""Compute usage: what projects are promised, hold and borrow, and which ask for more than their share. Pure.

Resources that are kept for the next try of a task count as held, as far as there is room for them beside live attempts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache

from bastion.quota.policy.reasons import impossible
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, minus, plus, total
from bastion.quota.shares import Shares, amounts

from ..journal.attempts import shape
from ..model.state.state import Job, State
from .eligibility import eligibility_of
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcessDemand:
    """The jobs of one size with which a project asks for more of a kind than its share. Some of them wait.

    project: the project.
    kind: the kind of resource.
    size: units of the kind that each of their tasks asks for.
    running: units that their attempts hold.
    waiting: units that those of their tasks ask for that wait for resources.
    share: units that the project is promised.
    ratio: all that they ask for, in times of the share. It is above 1.
    """

    project: str
    kind: str
    size: int
    running: int
    waiting: int
    share: int
    ratio: float

    def text(self) -> str:
        """Say it in one line, with what would help."""
        hundredths = -(-100 * (self.running + self.waiting) // self.share)  # rounded up, so that it is above 1
        times = f"{hundredths / 100:.2f}".rstrip("0").rstrip(".")
        units = f"{self.running} running, {self.waiting} waiting, share {self.share}"
        why, less = "whatever their order, some of them wait", "fewer"
        if self.size > self.share:
            why, less = "such a job starts only with what others lend", "smaller"
        return (
            f"{self.project} asks for {times} times its share of {self.kind} with jobs of {self.size} ({units}): "
            f"{why}; a larger share or {less} jobs would help"
        )


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


def excess(state: State, quota: Quota, now: datetime) -> list[ExcessDemand]:
    """Return for each project and kind with a share the size with the largest ratio above 1, sorted by name.

    Of tasks that do not run, only those count that may start as soon as there is room. Passes once over pending jobs.
    """
    promised, rows = shares(state, quota), defaultdict[tuple[str, str, int], list[int]](lambda: [0, 0])
    partitions = cache(current_capacity(state, replace(inputs(state), quota=quota)).of_partitions)
    for _, job, _ in state.live_attempts():
        for kind, size in amounts(job.demand):
            rows[quota.holder(job.user, job.project), kind, size][0] += size
    for job in map(state.jobs.__getitem__, state.pending):
        tasks = eligibility_of(state, job, quota, now).tasks
        if tasks and not impossible(amounts(job.demand), partitions(job.max_tier)):
            for kind, size in amounts(job.demand):
                rows[job.project, kind, size][1] += tasks * size
    found: dict[tuple[str, str], ExcessDemand] = {}
    for (project, kind, size), (running, waiting) in sorted(rows.items()):
        share = promised.units(project).get(kind, 0)
        if share and waiting and running + waiting > max(share, _asked(found.get((project, kind)))):
            found[project, kind] = ExcessDemand(
                project=project,
                kind=kind,
                size=size,
                running=running,
                waiting=waiting,
                share=share,
                ratio=(running + waiting) / share,
            )
    return list(found.values())


def _asked(row: ExcessDemand | None) -> int:
    return row.running + row.waiting if row else 0
