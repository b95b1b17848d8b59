"""Take the real decision on what-if states, and find its effect on one job. Pure.

The policy is a black box here: only its answers count. So the explanations stay true when the policy changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from bastion.model.state.state import Job, State
from bastion.schedule.pending import PendingJobs
from bastion.schedule.plan import DecisionInputs, Plan, plan

from .what_if_state import WhatIfCase

Decide = Callable[[State, DecisionInputs, datetime, PendingJobs], Plan]

AT_MOST, LEAST = 40, 20
WORK_MAX = 200_000
"""Most work for one account: decisions times pending jobs. That takes some seconds."""


class DecisionLimitReached(Exception):
    """The limit of decisions is reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobReference:
    """A short reference to another job.

    job: id of the job.
    user: its user.
    project: its project.
    """

    job: str
    user: str
    project: str

    @classmethod
    def of(cls, job: Job) -> JobReference:
        """Return the reference to a job."""
        return cls(job=job.id, user=job.user, project=job.project)

    def __str__(self) -> str:
        return f"{self.user}/{self.job}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionEffect:
    """The effect of a decision on a job. True if there is any.

    tasks: number of its tasks that start.
    stops: jobs with attempts that are stopped for it.
    """

    tasks: int = 0
    stops: tuple[JobReference, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.tasks or self.stops)


class WhatIfDecisions:
    """A limited number of decisions about one job. Mutable.

    The cases differ little, so one index of pending jobs serves them all.
    """

    def __init__(self, job: str, most: int = AT_MOST, decide: Decide = plan) -> None:
        self.job = job
        self.taken, self.refused = 0, False
        self._most, self._decide = most, decide
        self._pending = PendingJobs()
        self._changed: frozenset[str] = frozenset()
        self._opened: set[str] = set()

    @classmethod
    def about(cls, job: Job, state: State) -> WhatIfDecisions:
        """Create it with as many decisions as a queue of this length allows."""
        return cls(job.id, max(LEAST, min(AT_MOST, WORK_MAX // max(1, len(state.pending)))))

    @property
    def left(self) -> int:
        """The number of decisions that may still be taken."""
        return self._most - self.taken

    def plan(self, case: WhatIfCase) -> Plan:
        """Take the decision on a case. Raises `DecisionLimitReached` if no more may be taken."""
        if not self.left:
            self.refused = True
            raise DecisionLimitReached
        self.taken += 1
        # The last case may have been at a later time, so jobs that time alone let in are indexed anew.
        self._pending.differ({*self._changed, *case.changed, *self._opened})
        self._changed = case.changed
        self._opened |= set(self._pending.opening(case.now))
        return self._decide(case.state, case.inputs, case.now, self._pending)

    def effect(self, case: WhatIfCase) -> DecisionEffect:
        """Return what the decision on a case does for the job. Raises `DecisionLimitReached`."""
        return effect(self.plan(case), self.job, case.state)


def effect(answer: Plan, job: str, state: State) -> DecisionEffect:
    """Return what a decision does for a job."""
    stopped = [stop.job for stop in answer.schedule.stops if stop.for_job == job]
    return DecisionEffect(
        tasks=sum(start.job == job for start in answer.schedule.starts),
        stops=tuple(JobReference.of(state.jobs[name]) for name in dict.fromkeys(stopped)),
    )
