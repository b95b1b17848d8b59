"""The real decision, taken on states as they might be, and what it does for one job. Pure.

The policy is a black box here: it is asked, and its answer is looked at. So what is said of it stays true when it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bastion.model.state.state import Job, State
from bastion.schedule.pending import PendingJobs
from bastion.schedule.plan import Inputs, Plan, plan

from .what_if_state import WhatIfCase

Decide = Callable[[State, Inputs, datetime, PendingJobs], Plan]

AT_MOST, LEAST = 40, 20
WORK_MAX = 200_000
"""Of decisions for one account, in jobs that wait: what some seconds allow."""


class Spent(Exception):
    """No more decisions may be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """Another job, and whose it is."""

    job: str
    user: str
    project: str

    @classmethod
    def of(cls, job: Job) -> Other:
        """The names of a job."""
        return cls(job=job.id, user=job.user, project=job.project)

    def __str__(self) -> str:
        return f"{self.user}/{self.job}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """What a decision does for a job: how many of its tasks start, and whose attempts are stopped for its sake."""

    tasks: int = 0
    stops: tuple[Other, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tasks or self.stops)


class WhatIfDecisions:
    """Decisions about one job, so many at most, on cases that differ little: what was indexed for one serves the next."""

    def __init__(self, job: str, most: int = AT_MOST, decide: Decide = plan) -> None:
        self.job = job
        self.taken, self.refused = 0, False
        self._most, self._decide = most, decide
        self._lineup = PendingJobs()
        self._changed: frozenset[str] = frozenset()
        self._opened: set[str] = set()

    @classmethod
    def about(cls, job: Job, state: State) -> WhatIfDecisions:
        """As many as such a queue allows."""
        return cls(job.id, max(LEAST, min(AT_MOST, WORK_MAX // max(1, len(state.pending)))))

    @property
    def left(self) -> int:
        """So many more."""
        return self._most - self.taken

    def plan(self, case: WhatIfCase) -> Plan:
        """What would be decided. Raises `Spent`."""
        if not self.left:
            self.refused = True
            raise Spent
        self.taken += 1
        self._lineup.differ({*self._changed, *case.changed, *self._opened})  # the last case may have been a later one
        self._changed = case.changed
        self._opened |= set(self._lineup.opening(case.now))
        return self._decide(case.state, case.inputs, case.now, self._lineup)

    def effect(self, case: WhatIfCase) -> Effect:
        """What that would do for the job. Raises `Spent`."""
        return effect(self.plan(case), self.job, case.state)


def effect(answer: Plan, job: str, state: State) -> Effect:
    """What an answer does for a job."""
    stopped = [stop.job for stop in answer.schedule.stops if stop.for_job == job]
    return Effect(
        tasks=sum(start.job == job for start in answer.schedule.starts),
        stops=tuple(Other.of(state.jobs[name]) for name in dict.fromkeys(stopped)),
    )
