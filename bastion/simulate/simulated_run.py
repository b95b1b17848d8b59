"""One simulated run, from its settings to its numbers. Pure but for itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType

from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, fits, total
from bastion.quota.shares import Shares
from bastion.quota.tiers import tier_amounts

from ..model.errors import BastionError
from ..model.settings.config import Config, render
from ..model.stored.events import CapacityChanged, FileChanged
from ..schedule.plan import DecisionInputs
from .simulation import RUNNER, Simulation
from .simulation_report import SimulationReport, SizeMeasure, report
from .summary import HoldingLevel, Summary
from .workload import Arrival, WorkPace

LEFT_OUT = MappingProxyType(
    {
        "larger_than_pool": "ask for more than the fleet has",
        "unknown_project": "belong to a project that the quota file does not have",
        "not_a_member": "have a user who is not a member of their project",
        "class_not_granted": "are of a class that their project was not granted",
        "after_the_window": "come after the window",
    }
)
"""The reasons why jobs take no part in a run, for scripts and in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of a run, and how it is measured.

    quota: the quota that is simulated.
    config: the bastion's settings.
    pace: how the fleet works.
    kind: the kind of resource that sizes are counted in.
    capacity: what the fleet has, by kind; None: what the quota says.
    until: the window begins with the first arrival and ends after this time; None: with the last job.
    big: a job of this size or more is a big gang.
    log: record every change of what projects hold.
    """

    quota: Quota
    config: Config
    pace: WorkPace
    kind: str
    capacity: Resources | None = None
    until: timedelta | None = None
    big: int = 16
    log: bool = False

    @property
    def total_capacity(self) -> Resources:
        """Return the capacity of each kind."""
        return total(tier_amounts(self.quota, self.capacity))

    def under(self, config: Config) -> RunSettings:
        """Return the same run with other settings of the bastion."""
        return replace(self, config=config)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
    """The result of a run.

    report: its numbers.
    shares: the shares that it was measured by.
    since: where the window begins.
    until: where the window ends.
    levels: the changes of what projects hold; empty if they were not logged.
    """

    report: SimulationReport
    shares: Shares
    since: datetime
    until: datetime
    levels: Sequence[HoldingLevel]


def everybody(quota: Quota) -> Quota:
    """Return the same quota, with every user a member of every project that it knows.

    A trace says which user worked for which project, so membership need not be checked.
    """
    return replace(quota, members=dict.fromkeys(sorted({*quota.shares, *quota.members}), (".*",)))


def simulate(scene: RunSettings, arrivals: Sequence[Arrival]) -> SimulatedRun:
    """Run the arrivals, which are in the order of their time. Raises `BastionError` if none of them can be run."""
    since = arrivals[0].at
    until = since + scene.until if scene.until is not None else None
    shares = Shares(scene.quota, scene.total_capacity)
    why = [_left_out(scene, arrival, until) for arrival in arrivals]
    runnable = [arrival for arrival, reason in zip(arrivals, why, strict=True) if not reason]
    left_out = Counter(reason for reason in why if reason)
    if not runnable:
        raise BastionError(f"no job can be run: {', '.join(f'{n} {LEFT_OUT[why]}' for why, n in left_out.items())}")
    capacity = dict(scene.capacity) if scene.capacity is not None else None
    settings = FileChanged(file="config", version="simulated", text=render(scene.config))
    opening = (settings, CapacityChanged(runner=RUNNER, resources=capacity))
    simulation = Simulation(opening, DecisionInputs(quota=scene.quota, config=scene.config), runnable, scene.pace)
    account = Summary(shares, scene.pace, since, until, log=scene.log)
    for record in simulation.run():
        account.take(record)
    account.close()
    numbers = report(
        account,
        SizeMeasure(scene.kind, scene.big),
        policy=scene.config.policy,
        decisions=simulation.decisions,
        left_out={reason: left_out[reason] for reason in LEFT_OUT},
    )
    return SimulatedRun(report=numbers, shares=shares, since=since, until=account.until, levels=account.levels)


def _left_out(scene: RunSettings, arrival: Arrival, until: datetime | None) -> str:
    """Return why a job cannot be run, as a key of `LEFT_OUT`; empty if it can."""
    spec, quota = arrival.spec, scene.quota
    if until is not None and arrival.at >= until:
        return "after_the_window"
    if not quota.is_open and spec.project not in quota.shares and spec.project not in quota.members:
        return "unknown_project"
    if not quota.admits(spec.user, spec.project):
        return "not_a_member"
    if not quota.grants(spec.project, spec.job_class):
        return "class_not_granted"
    return "" if any(fits(choice.demand, scene.total_capacity) for choice in spec.choices) else "larger_than_pool"
