"""The prospects of a job that has not ended: why it waits, what would start it, and its preemption risk. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from bastion.model.state.state import AttemptState, Job, JobState
from bastion.schedule.runner_choice import places

from ..read.pending_reasons import NOTHING, decided_at, reasons, rested_on, unheard
from ..read.view import View
from .held_back import HeldBack
from .preemption_risk import PreemptionRisk, exposure
from .start_estimate import outlook
from .waiting import WaitingAccount, waiting
from .what_if_decision import WhatIfDecisions
from .what_if_state import WhatIfCase, as_it_waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospects:
    """The prospects of one job at one look.

    reasons: why jobs wait, by id; if this job is not pending, only reasons that come from unreachable runners.
    waiting: account of its pending tasks; None: it has none.
    exposure: preemption risk of its running tasks; None: none runs, or no project has a share.
    """

    reasons: Mapping[str, str] = field(default_factory=dict)
    waiting: WaitingAccount | None = None
    exposure: PreemptionRisk | None = None


def prospects(view: View, job: Job) -> Prospects:
    """Compute the prospects of a job on this view."""
    case = WhatIfCase(state=view.state, inputs=rested_on(view), now=decided_at(view))
    asked = WhatIfDecisions.about(job, view.state)
    found = Prospects(reasons=reasons(view, NOTHING))
    if job.counts.get(JobState.PENDING) and job.ended is None:
        case = as_it_waits(case, job.id)
        job = case.state.jobs[job.id]
        answer = asked.plan(case)
        # The reasons come from the index of pending jobs, which the next decisions change.
        told, against = reasons(view, answer), waiting(case, job, answer)
        against = replace(
            against, outlook=outlook(case, job, answer, asked), gates=(*against.gates, *_unheard(view, case, job))
        )
        found = Prospects(reasons=told, waiting=against)
    live = (task.live for task in job.tasks.values())
    if any(attempt and attempt.state is not AttemptState.STOPPING for attempt in live):
        found = replace(found, exposure=exposure(case, job, asked))
    return found


def _unheard(view: View, case: WhatIfCase, job: Job) -> Iterator[HeldBack]:
    """Yield an obstacle if all runners of the job are unreachable: nothing starts there."""
    if runners := unheard(view, places(case.state, case.inputs.config), job):
        yield HeldBack(what="runner", text=f"an answer from the runner {' or '.join(runners)}")
