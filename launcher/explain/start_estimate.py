"""What is ahead of a job that waits: when it will start as things are, and what would start it now. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bastion.model.state.state import Job
from bastion.schedule.eligibility import gate
from bastion.schedule.plan import Plan

from .forecast import Expected, forecast
from .held_back import lifted, met
from .job_remedies import levers
from .remedies import Remedy, remedies
from .supply import standing
from .what_if_decision import Effect, Spent, WhatIfDecisions, effect
from .what_if_state import WhatIfCase


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEstimate:
    """`now` is what the decision does for the job once its gates are open: if anything, then nothing else is needed.

    `expected` is an estimate, and `remedies` are facts: each was tried by a decision, of which so many were taken. There
    may be more that helps if it is not `complete`: in a long queue a decision is dear.
    """

    now: Effect
    expected: Expected | None
    remedies: tuple[Remedy, ...]
    decisions: int
    complete: bool


def outlook(case: WhatIfCase, job: Job, answer: Plan, asked: WhatIfDecisions) -> StartEstimate:
    """The outlook of a job with tasks that wait; `answer` is the decision that was taken on this case."""
    expected, now, found = None, Effect(), tuple[Remedy, ...]()
    _ = answer.schedule.reasons  # to be told while the lineup is of this case
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
    except Spent:
        pass
    return StartEstimate(now=now, expected=expected, remedies=found, decisions=asked.taken, complete=not asked.refused)


def _may(case: WhatIfCase, job: str) -> bool:
    quota = case.inputs.quota
    return quota is not None and gate(case.state, case.state.jobs[job], quota, case.now).tasks > 0


def _remedies(case: WhatIfCase, job: Job, answer: Plan, decisions: WhatIfDecisions) -> tuple[Remedy, ...]:
    waited = job.since + timedelta(seconds=case.inputs.config.reclaim_delay)
    return remedies(case, waited, levers(standing(case, job, answer)), decisions)
