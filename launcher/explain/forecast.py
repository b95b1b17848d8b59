"""Estimate when a pending job starts, if no job is submitted and each attempt runs until its latest end. Pure.

The known ends (time limits, stops under way) happen one after the other. After each, the real decision is taken and
carried out. This is an estimate: jobs that end early, or new ones, change it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import AttemptState, Job
from bastion.model.stored.events import Claimed
from bastion.quota.resources import Resources
from bastion.schedule.held_work import until
from bastion.schedule.plan import Plan, starts, stops

from .what_if_decision import JobReference, WhatIfDecisions, effect
from .what_if_state import WhatIfCase, WhatIfState

STEPS = 12
"""Most decisions for one estimate. If there are more ends, several happen at once, which makes the estimate later."""

HORIZON = timedelta(days=1)
"""The estimate looks no further ahead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndingJob:
    """A job with an attempt that ends before the expected start.

    job: the job.
    stopped: it is being stopped; else it reaches its time limit.
    """

    job: JobReference
    stopped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedStart:
    """The expected start of a job, or of its next task.

    at: time of the start.
    over: jobs whose attempts end just before it.
    stopping_at: when other jobs are stopped for it; None: none are.
    """

    at: datetime
    over: tuple[EndingJob, ...]
    stopping_at: datetime | None


def forecast(case: WhatIfCase, job: Job, answer: Plan, decisions: WhatIfDecisions) -> ExpectedStart | None:
    """Return the expected start; None if no known end, and no passing of time, lets the job start.

    `answer` is the decision on `case`.
    """
    future = _Future(case, job)
    asked_at: datetime | None = None
    steps = min(STEPS, decisions.left // 3)
    # Most of the decisions are left for the remedies.
    for step in range(steps):
        helped = effect(answer, job.id, future.case().state)
        asked_at = asked_at or (future.now if helped.stops else None)
        if helped.tasks:
            return ExpectedStart(at=future.now, over=future.over, stopping_at=asked_at)
        future.happens(answer)
        if not future.moves(steps - step, answer.again):
            return None
        answer = decisions.plan(future.case())
    return None


class _Future:
    """A case that changes as time passes. Mutable."""

    def __init__(self, case: WhatIfCase, job: Job) -> None:
        self._job = job
        self._sketch = WhatIfState(case)
        self.now = self._begun = case.now
        self.over: tuple[EndingJob, ...] = ()

    def case(self) -> WhatIfCase:
        """Return the case as it is by now."""
        return self._sketch.case()

    def happens(self, answer: Plan) -> None:
        """Carry out a decision at once."""
        state = self._sketch.state
        self._sketch.happens(*stops(state, answer.schedule, self.now))
        seats = dict.fromkeys(answer.schedule.starts, ("", 1))
        for event in list(starts(state, answer.schedule, seats, self.now)):
            at = {"job": event.job, "task": event.task, "attempt": event.attempt}
            self._sketch.happens(event, Claimed(**at, worker=0, machine="m"))  # type: ignore[arg-type]

    def moves(self, steps: int, again: datetime | None) -> bool:
        """Go on to the next end, or past several ends if there are more than steps left.

        `again` is when the decision is to be taken again at the latest. Return False if there is nothing to go to
        within `HORIZON`.
        """
        ends = sorted(self._ends(), key=lambda row: row[0])
        moments = sorted({at for at, _ in ends})
        if moments:
            moments = [moments[-(-len(moments) // steps) - 1]]
        if again is not None and again > self.now:
            moments.append(again)
        if not moments or min(moments) > self._begun + HORIZON:
            return False
        self.now = self._sketch.state.now = max(self.now, min(moments))
        due = [key for at, key in ends if at <= self.now]
        self.over = tuple(dict.fromkeys(self._over(key) for key in due))
        self._sketch.over(due)
        return True

    def _over(self, key: AttemptKey) -> EndingJob:
        state = self._sketch.state
        attempt = state.attempt(key)
        stopped = attempt is not None and attempt.state is AttemptState.STOPPING
        return EndingJob(job=JobReference.of(state.jobs[key.job]), stopped=stopped)

    def _ends(self) -> Iterator[tuple[datetime, AttemptKey]]:
        """Yield the known ends of attempts that hold a kind of resource that the job wants in any of its shapes."""
        wanted = {kind for demand in _demands(self._job) for kind, n in demand.items() if n}
        for key, other, attempt in self._sketch.state.live_attempts():
            at = until(other, attempt)
            if at and any(n and kind in wanted for kind, n in other.demand.items()):
                yield at, key


def _demands(job: Job) -> list[Resources]:
    """List the demands of one task in each of the job's shapes."""
    return [job.demand, *(choice.demand for choice in job.choices)]
