"""Estimate when a pending job starts as things are, and find what would start it now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bastion.model.state.state import Job
from bastion.schedule.eligibility import eligibility_of
from bastion.schedule.plan import Plan

from .forecast import ExpectedStart, forecast
from .held_back import lifted, met
from .job_remedies import levers
from .remedies import Remedy, remedies
from .supply import standing
from .what_if_decision import DecisionEffect, DecisionLimitReached, WhatIfDecisions, effect
from .what_if_state import WhatIfCase


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEstimate:
    """The start estimate of a pending job, and its remedies.

    now: what the decision does for the job without its obstacles; if anything, no remedy is needed.
    expected: estimate of the start; None: no known end lets it start, or it starts at once.
    remedies: changes that start it; each was tried by a real decision.
    decisions: number of decisions that were taken.
    complete: False: the decisions were spent, and more changes may help. In a long queue each decision is expensive.
    """

    now: DecisionEffect
    expected: ExpectedStart | None
    remedies: tuple[Remedy, ...]
    decisions: int
    complete: bool


def outlook(case: WhatIfCase, job: Job, answer: Plan, asked: WhatIfDecisions) -> StartEstimate:
    """Return the start estimate of a job with pending tasks. `answer` is the decision on `case`."""
    expected, now, found = None, DecisionEffect(), tuple[Remedy, ...]()
    _ = answer.schedule.reasons  # made now, while the index of pending jobs is that of this case
    try:
        opened = lifted(case, job)
        first = answer if opened is case else asked.plan(opened)
        if not effect(first, job.id, case.state).tasks:
            expected = forecast(opened, opened.state.jobs[job.id], first, asked)
        ready = met(opened, opened.state.jobs[job.id])
        last = answer if ready is case else asked.plan(ready)
        now = effect(last, job.id, case.state)
        if not now and _may(ready, job.id):
            found = _remedies(ready, ready.state.jobs[job.id], last, asked)
    except DecisionLimitReached:
        pass
    return StartEstimate(now=now, expected=expected, remedies=found, decisions=asked.taken, complete=not asked.refused)


def _may(case: WhatIfCase, job: str) -> bool:
    quota = case.inputs.quota
    return quota is not None and eligibility_of(case.state, case.state.jobs[job], quota, case.now).tasks > 0


def _remedies(case: WhatIfCase, job: Job, answer: Plan, decisions: WhatIfDecisions) -> tuple[Remedy, ...]:
    waited = job.since + timedelta(seconds=case.inputs.config.reclaim_delay)
    return remedies(case, waited, levers(standing(case, job, answer)), decisions)
