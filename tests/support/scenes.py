"""Small fleets in a few words, and the same with a remedy acted upon: made anew from events and a quota file.

Nothing here is shared with the code that finds remedies, so that what is found is checked, and not repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bastion.journal.fold import apply
from bastion.launcher.explain.remedies import Remedy
from bastion.launcher.explain.start_estimate import StartEstimate, outlook
from bastion.launcher.explain.what_if_decision import WhatIfDecisions
from bastion.launcher.explain.what_if_state import WhatIfCase
from bastion.model.job.spec_changes import Changes
from bastion.model.settings.config import Config
from bastion.model.state.state import Cause, JobState, State
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    CapacityChanged,
    Claimed,
    Ended,
    Gone,
    Held,
    Paused,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
)
from bastion.quota.quota import Quota
from bastion.quota.quota_file import parse
from bastion.quota.resources import plus
from bastion.schedule.plan import DecisionInputs, Plan, plan
from tests.support.world import NOON, spec

PROJECTS = ("red", "blue", "green")
MEMBERS = {"red": ("alice", "ann"), "blue": ("bob",), "green": ("guy",)}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A job: what it asks for, how long ago, of how many tasks so many run; and what else happened to it."""

    name: str
    user: str = "alice"
    project: str = "red"
    resources: Mapping[str, int] = field(default_factory=lambda: {"v4": 4})
    age_s: float = 1_000.0
    running: int = 0
    stopping_for: str | None = None
    held: bool = False
    topped: bool = False
    ended: bool = False
    priority_now: int | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def tasks(self) -> int:
        return int(self.more.get("count", 1))


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A fleet at noon. `shares` are fractions, by project and kind; `worse` is a second tier, `more` more of the quota file.

    What is there became `smaller` just now, if that is said; and an admin `paused` all.
    """

    capacity: Mapping[str, int] = field(default_factory=lambda: {"v4": 8})
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    jobs: tuple[Asked, ...] = ()
    delay_s: float = 90.0
    members: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MEMBERS)
    worse: Mapping[str, int] = field(default_factory=dict)
    more: str = ""
    smaller: Mapping[str, int] = field(default_factory=dict)
    paused: bool = False
    policy: str = "default"

    def quota(self) -> Quota:
        """As an admin would write it: what is not legal is refused here."""
        lines = ["[toml-schema]", 'version = "1"']
        for tier in (self.capacity, self.worse) if self.worse else (self.capacity,):
            lines += ["[[total_resources]]" if self.worse else "[total_resources]"]
            lines += [f"{kind} = {n}" for kind, n in tier.items()]
        lines += ["[project_membership]", *(f"{name} = {list(users)}" for name, users in self.members.items())]
        for project, row in self.shares.items():
            lines += [f"[project_resources.{project}]", *(f"{kind} = {share}" for kind, share in row.items())]
        return parse("\n".join([*lines, self.more]).replace("'", '"'))

    def case(self, at: datetime = NOON) -> WhatIfCase:
        """What a decision rests on."""
        state = State(now=NOON)
        seq = 0
        for seq, (when, event) in enumerate(sorted(self._events(), key=lambda row: row[0])):
            state.now = when
            apply(state, event, seq, 0)
        state.seq, state.now = seq + 1, NOON
        return WhatIfCase(
            state=state,
            inputs=DecisionInputs(quota=self.quota(), config=Config(reclaim_delay=self.delay_s, policy=self.policy)),
            now=at,
        )

    def decided(self, at: datetime = NOON) -> Plan:
        """What the bastion would do."""
        case = self.case(at)
        return plan(case.state, case.inputs, case.now)

    def outlook(self, job: str) -> StartEstimate:
        """What is told of a job."""
        case, decisions = self.case(), WhatIfDecisions(job)
        return outlook(case, case.state.jobs[job], decisions.plan(case), decisions)

    def job(self, name: str) -> Asked:
        """One of them."""
        return next(job for job in self.jobs if job.name == name)

    def but(self, name: str, **fields: Any) -> Scene:
        """The same, with another such job."""
        return replace(self, jobs=tuple(replace(job, **fields) if job.name == name else job for job in self.jobs))

    def without(self, *names: str) -> Scene:
        """The same, had these jobs been stopped by now."""
        return replace(self, jobs=tuple(replace(job, ended=job.ended or job.name in names) for job in self.jobs))

    def _events(self) -> Iterator[tuple[datetime, AnyEvent]]:
        yield NOON - timedelta(days=9), CapacityChanged(runner="local", resources=plus(self.capacity, self.worse))
        if self.smaller:
            yield NOON, CapacityChanged(runner="local", resources=dict(self.smaller))
        if self.paused:
            yield NOON, Paused(request="p", user="root")
        for job in self.jobs:
            at = NOON - timedelta(seconds=job.age_s)
            fields = {"user": job.user, "project": job.project, "resources": dict(job.resources), **job.more}
            yield at, Submitted(request=f"r-{job.name}", job=job.name, spec=spec(name=job.name, **fields))
            for task in range(job.running):
                key: dict[str, Any] = {"job": job.name, "task": task, "attempt": 0}
                yield at, Started(**key, runner="local", tier=0, workers=1)
                yield at, Claimed(**key, worker=0, machine=f"m-{job.name}-{task}")
                if job.stopping_for is not None:
                    soon, why = NOON + timedelta(seconds=30), f"reclaimed for {job.stopping_for}"
                    stop = Stopping(**key, cause=Cause.PREEMPTED, deadline=soon, reason=why, for_job=job.stopping_for)
                    yield NOON, stop
            if job.topped:
                yield NOON, Topped(request="t", user=job.user, job=job.name)
            if job.ended:
                yield NOON, CancelRequested(request="c", user=job.user, job=job.name)
                for task in range(job.running):
                    key = {"job": job.name, "task": task, "attempt": 0}
                    yield NOON, Gone(**key, worker=0)
                    yield NOON, Ended(**key, cause=Cause.CANCELLED, outcome=JobState.CANCELLED, reason="cancelled")
            if job.held and not job.ended:
                yield NOON, Held(request="h", user=job.user, job=job.name)
            if job.priority_now is not None:
                yield (
                    NOON,
                    Updated(request="u", user=job.user, job=job.name, changes=Changes(priority=job.priority_now)),
                )


def acted(scene: Scene, job: str, remedy: Remedy) -> Scene:
    """The scene after what a remedy says, which is read from what scripts are told."""
    change = remedy.change
    match remedy.what:
        case "time":
            return scene
        case "priority":
            return scene.but(job, priority_now=change["priority"])
        case "resources":
            return scene.but(job, resources=change["resources"])
        case "replicas":
            return scene.but(job, more={**scene.job(job).more, "replicas": change["num_replicas"]})
        case "class":
            return scene.but(job, more={**scene.job(job).more, "job_class": change["class"]})
        case "max_tier":
            return scene.but(job, more={**scene.job(job).more, "max_tier": change["max_tier"]})
        case "user_limit":
            rows = [
                f"{name} = {{ {', '.join(f'{k} = {n}' for k, n in row.items())} }}"
                for name, row in change["user_limits"].items()
            ]
            return replace(scene, more="\n".join(["[user_limits]", *rows]))
        case "others":
            for other in change["hold"]:
                scene = scene.but(other, held=True)
            return scene.without(*change["end"])
        case "share":
            shares = {project: dict(row) for project, row in scene.shares.items()}
            for row in change["shares"]:
                shares.setdefault(row["project"], {})[row["kind"]] = row["share"]
            return replace(scene, shares=shares)
        case "pool":
            return replace(
                scene,
                capacity={
                    k: scene.capacity.get(k, 0) + change["more"].get(k, 0) for k in {**scene.capacity, **change["more"]}
                },
            )
    raise AssertionError(remedy)


def starts(scene: Scene, job: str, at: datetime = NOON) -> int:
    """How many tasks of the job would start."""
    return sum(start.job == job for start in scene.decided(at).schedule.starts)


def stopped_for(scene: Scene, job: str, at: datetime = NOON) -> list[str]:
    """Whose attempts would be stopped for it."""
    return [stop.job for stop in scene.decided(at).schedule.stops if stop.for_job == job]


def less(scene: Scene, job: str, remedy: Remedy) -> Iterator[Remedy]:
    """The same remedy with one unit less of what it changes, in every way; without those that change nothing."""
    change = remedy.change
    match remedy.what:
        case "priority" if change["priority"] + 1 < (scene.job(job).more.get("priority", 5)):
            yield replace(remedy, change={"priority": change["priority"] + 1})
        case "resources":
            asked = scene.job(job).resources
            for kind, n in change["resources"].items():
                if n < asked[kind]:
                    yield replace(remedy, change={"resources": {**change["resources"], kind: n + 1}})
        case "replicas":
            yield replace(remedy, change={"num_replicas": change["num_replicas"] + 1})
        case "others":
            for verb in ("end", "hold"):
                if change[verb]:
                    yield replace(remedy, change={**change, verb: change[verb][:-1]})
        case "pool":
            for kind, n in change["more"].items():
                yield replace(remedy, change={"more": {**change["more"], kind: n - 1}})
