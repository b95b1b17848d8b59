"""Whether what runs may be stopped for others: by those who wait as time passes, and by jobs that might come. Pure.

As of what would start a job, nothing is told of it that a decision did not say.
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
from .what_if_decision import Other, Spent, WhatIfDecisions
from .what_if_state import NOBODY, WhatIfCase, WhatIfState, asking, member

AHEAD = 4
"""So many moments are looked ahead."""

PROJECTS = 3
"""So many projects are asked about, first those with most room in their shares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threat:
    """A job that waits has the running one stopped at this time, if nothing happens until then. None: the pool shrank."""

    by: Other | None
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareClaim:
    """A job of this project that asks for this much, within its share, would have the running one stopped.

    It would not for one unit less. It must have waited `after_s` before.
    """

    project: str
    resources: Mapping[str, int]
    after_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionRisk:
    """`borrowed` are the units that its project holds beyond its share, of what the job has."""

    borrowed: Mapping[str, int]
    threat: Threat | None
    claims: tuple[ShareClaim, ...]


def exposure(case: WhatIfCase, job: Job, asked: WhatIfDecisions) -> PreemptionRisk | None:
    """Of a job that runs; None where nobody has a share."""
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
    except Spent:
        pass
    return PreemptionRisk(
        borrowed={kind: n for kind, n in over.items() if job.demand.get(kind)}, threat=threat, claims=tuple(claims)
    )


def _threat(case: WhatIfCase, job: Job, asked: WhatIfDecisions) -> Threat | None:
    for _ in range(AHEAD):
        answer = asked.plan(case)
        for stop in answer.schedule.stops:
            if stop.job == job.id:
                by = case.state.jobs.get(stop.for_job or "")
                return Threat(by=Other.of(by) if by else None, at=case.now)
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
    free = promised.pool[kind] - sum(row.get(kind, 0) for row in used.values())
    for project in sorted((name for name in others if room[name] > 0), key=lambda name: (-room[name], name))[:PROJECTS]:
        newcomer = Newcomer(case, project)
        found = least(
            {kind: min(room[project], max(0, free) + 1)},
            {kind: room[project]},
            lambda amount, newcomer=newcomer: newcomer.stops(job, amount, asked),  # type: ignore[misc]
        )
        if found:
            yield ShareClaim(project=project, resources=found, after_s=case.inputs.config.reclaim_delay)


class Newcomer:
    """A job of a project that has waited for as long as it takes until others are stopped for it."""

    def __init__(self, case: WhatIfCase, project: str) -> None:
        self._case, self._project = member(case, project), project

    def stops(self, job: Job, resources: Amounts, asked: WhatIfDecisions) -> bool:
        """True if the job would be stopped for it."""
        wanted = new_jobspec(
            name=NOBODY, user=NOBODY, project=self._project, command=[NOBODY], resources=dict(resources)
        )
        sketch = WhatIfState(self._case)
        sketch.happens(Submitted(request=NOBODY, job=NOBODY, spec=wanted))
        case = sketch.case()
        since = case.now - timedelta(seconds=case.inputs.config.reclaim_delay)
        answer = asked.plan(asking(case, NOBODY, since=since))
        return any(stop.job == job.id and stop.for_job == NOBODY for stop in answer.schedule.stops)
