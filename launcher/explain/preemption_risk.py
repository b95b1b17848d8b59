"""The preemption risk of running jobs: from jobs that wait, as time passes, and from jobs that may come. Pure.

Each risk is the answer of a decision, as the remedies are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from bastion.model.job.spec import new_jobspec
from bastion.model.state.state import Job
from bastion.model.stored.events import Submitted
from bastion.quota.shares import Shares
from bastion.schedule.usage import held, shares

from .smallest import Amounts, least
from .what_if_decision import DecisionLimitReached, JobReference, WhatIfDecisions
from .what_if_state import NOBODY, WhatIfCase, WhatIfState, asking, member

AHEAD = 4
"""Most times that a threat is looked for, one after the other."""

PROJECTS = 3
"""Most projects for which a claim is looked for, first those with most room in their shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedStop:
    """A future stop of the running job, if nothing else happens until then.

    by: pending job that it is stopped for; None: no job, the capacity shrank.
    at: time of the stop.
    """

    by: JobReference | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareClaim:
    """The smallest demand of a project, within its share, that would have the running job stopped.

    project: the project.
    resources: units by kind; with one unit less the job would not be stopped.
    after_s: seconds that such a demand must wait before the stop.
    """

    project: str
    resources: Mapping[str, int]
    after_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionRisk:
    """The preemption risk of one running job.

    borrowed: units that its project holds beyond its share, of the kinds that the job holds.
    threat: stop for a job that waits already; None: none found.
    claims: demands that would have it stopped; not computed if there is a threat.
    """

    borrowed: Mapping[str, int]
    threat: ExpectedStop | None
    claims: tuple[ShareClaim, ...]


def exposure(case: WhatIfCase, job: Job, asked: WhatIfDecisions) -> PreemptionRisk | None:
    """Compute the risk of a running job; None where no project has a share.

    If the decisions are spent on the way, what was found until then is returned.
    """
    quota = case.inputs.quota
    if quota is None or not any(n for row in quota.shares.values() for n in row.values()):
        return None
    promised, used = shares(case.state, quota), held(case.state, quota)
    holder = quota.holder(job.user, job.project)
    over = promised.borrowed(holder, used.get(holder, {}))
    threat, claims = None, list[ShareClaim]()
    try:
        threat = _threat(case, job, asked)
        claims += _claims(case, job, promised, asked) if threat is None else ()
    except DecisionLimitReached:
        pass
    return PreemptionRisk(
        borrowed={kind: n for kind, n in over.items() if job.demand.get(kind)}, threat=threat, claims=tuple(claims)
    )


def _threat(case: WhatIfCase, job: Job, asked: WhatIfDecisions) -> ExpectedStop | None:
    for _ in range(AHEAD):
        answer = asked.plan(case)
        for stop in answer.schedule.stops:
            if stop.job == job.id:
                by = case.state.jobs.get(stop.for_job or "")
                return ExpectedStop(by=JobReference.of(by) if by else None, at=case.now)
        if answer.schedule.stops or answer.schedule.starts or answer.again is None or answer.again <= case.now:
            return None
        case = case.at(answer.again)
    return None


def _claims(case: WhatIfCase, job: Job, promised: Shares, asked: WhatIfDecisions) -> Iterator[ShareClaim]:
    quota = case.inputs.quota
    governed = [kind for kind, n in job.demand.items() if n and kind in promised.governed]
    if quota is None or not governed:
        return
    used = held(case.state, quota)
    kind = max(governed, key=lambda kind: job.demand[kind])
    others = [project for project in quota.shares if project != job.project]
    room = {name: promised.units(name).get(kind, 0) - used.get(name, {}).get(kind, 0) for name in others}
    free = promised.capacity[kind] - sum(row.get(kind, 0) for row in used.values())
    for project in sorted((name for name in others if room[name] > 0), key=lambda name: (-room[name], name))[:PROJECTS]:
        newcomer = WhatIfJob(case, project)
        found = least(
            {kind: min(room[project], max(0, free) + 1)},
            {kind: room[project]},
            lambda amount, newcomer=newcomer: newcomer.stops(job, amount, asked),  # type: ignore[misc]
        )
        if found:
            yield ShareClaim(project=project, resources=found, after_s=case.inputs.config.reclaim_delay)


class WhatIfJob:
    """A what-if job of a project, which has waited until other jobs are stopped for it."""

    def __init__(self, case: WhatIfCase, project: str) -> None:
        self._case, self._project = member(case, project), project

    def stops(self, job: Job, resources: Amounts, asked: WhatIfDecisions) -> bool:
        """Return True if the job would be stopped for it."""
        wanted = new_jobspec(
            name=NOBODY, user=NOBODY, project=self._project, command=[NOBODY], resources=dict(resources)
        )
        sketch = WhatIfState(self._case)
        sketch.happens(Submitted(request=NOBODY, job=NOBODY, spec=wanted))
        case = sketch.case()
        since = case.now - timedelta(seconds=case.inputs.config.reclaim_delay)
        answer = asked.plan(asking(case, NOBODY, since=since))
        return any(stop.job == job.id and stop.for_job == NOBODY for stop in answer.schedule.stops)
