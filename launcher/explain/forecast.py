"""When a job that waits will start, if nothing more is submitted and everything runs as long as it may. Pure.

The ends that are known (time limits, stops under way) are let happen one after the other, and after each the real
decision is taken and has its effect. It is an estimate: jobs that end early, or are submitted, change it.
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

from .what_if_decision import Other, WhatIfDecisions, effect
from .what_if_state import WhatIfCase, WhatIfState

STEPS = 12
"""So many decisions at most; of more ends than that several are taken together, so that the estimate is rather late."""

HORIZON = timedelta(days=1)
"""Nobody knows what comes after that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Over:
    """A job of which an attempt ends: by its time limit, or because it is stopped."""

    job: Other
    stopped: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """The start of the job, or of the next of its tasks. `over` are the jobs of the attempts that end just before.

    `stopping_at` is when others are stopped for it, if they are.
    """

    at: datetime
    over: tuple[Over, ...]
    stopping_at: datetime | None


def forecast(case: WhatIfCase, job: Job, answer: Plan, decisions: WhatIfDecisions) -> Expected | None:
    """When it starts; None if no end that is known, and no time that passes, lets it start. `answer` is of `case`."""
    future = _Future(case, job)
    asked_at: datetime | None = None
    steps = min(STEPS, decisions.left // 3)
    for step in range(steps):
        helped = effect(answer, job.id, future.case().state)
        asked_at = asked_at or (future.now if helped.stops else None)
        if helped.tasks:
            return Expected(at=future.now, over=future.over, stopping_at=asked_at)
        future.happens(answer)
        if not future.moves(steps - step, answer.again):
            return None
        answer = decisions.plan(future.case())
    return None


class _Future:
    """What becomes of a case as time passes."""

    def __init__(self, case: WhatIfCase, job: Job) -> None:
        self._job = job
        self._sketch = WhatIfState(case)
        self.now = self._begun = case.now
        self.over: tuple[Over, ...] = ()

    def case(self) -> WhatIfCase:
        """As it is by now."""
        return self._sketch.case()

    def happens(self, answer: Plan) -> None:
        """What was decided is done at once."""
        state = self._sketch.state
        self._sketch.happens(*stops(state, answer.schedule, self.now))
        seats = dict.fromkeys(answer.schedule.starts, ("", 1))
        for event in list(starts(state, answer.schedule, seats, self.now)):
            at = {"job": event.job, "task": event.task, "attempt": event.attempt}
            self._sketch.happens(event, Claimed(**at, worker=0, machine="m"))  # type: ignore[arg-type]

    def moves(self, steps: int, again: datetime | None) -> bool:
        """Go on to the next end, or to more of them if they are too many for the steps left. False: nothing is known."""
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

    def _over(self, key: AttemptKey) -> Over:
        state = self._sketch.state
        attempt = state.attempt(key)
        stopped = attempt is not None and attempt.state is AttemptState.STOPPING
        return Over(job=Other.of(state.jobs[key.job]), stopped=stopped)

    def _ends(self) -> Iterator[tuple[datetime, AttemptKey]]:
        """Of those that hold something of what the job asks for, or would take."""
        wanted = {kind for demand in _demands(self._job) for kind, n in demand.items() if n}
        for key, other, attempt in self._sketch.state.live_attempts():
            at = until(other, attempt)
            if at and any(n and kind in wanted for kind, n in other.demand.items()):
                yield at, key


def _demands(job: Job) -> list[Resources]:
    """What a task of it asks for, and what it would take."""
    return [job.demand, *(choice.demand for choice in job.choices)]
