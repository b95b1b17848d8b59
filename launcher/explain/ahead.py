"""What lies before a job that has not ended: what it waits for and what would start it, and who may have it stopped. Pure."""

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
    """`reasons` are of all that waits, if the job does; else of what has no machines. What does not apply is None."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    waiting: WaitingAccount | None = None
    exposure: PreemptionRisk | None = None


def prospects(view: View, job: Job) -> Prospects:
    """Of this job, as of this look."""
    case = WhatIfCase(state=view.state, inputs=rested_on(view), now=decided_at(view))
    asked = WhatIfDecisions.about(job, view.state)
    found = Prospects(reasons=reasons(view, NOTHING))
    if job.counts.get(JobState.PENDING) and job.ended is None:
        case = as_it_waits(case, job.id)
        job = case.state.jobs[job.id]
        answer = asked.plan(case)
        told, against = reasons(view, answer), waiting(case, job, answer)  # before other decisions
        against = replace(
            against, outlook=outlook(case, job, answer, asked), gates=(*against.gates, *_unheard(view, case, job))
        )
        found = Prospects(reasons=told, waiting=against)
    live = (task.live for task in job.tasks.values())
    if any(attempt and attempt.state is not AttemptState.STOPPING for attempt in live):
        found = replace(found, exposure=exposure(case, job, asked))
    return found


def _unheard(view: View, case: WhatIfCase, job: Job) -> Iterator[HeldBack]:
    """Nothing starts on a runner that does not answer."""
    if runners := unheard(view, places(case.state, case.inputs.config), job):
        yield HeldBack(what="runner", text=f"an answer from the runner {' or '.join(runners)}")
