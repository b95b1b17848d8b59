"""Obstacles that hold a job back even if resources are free, and what-if cases without them. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from msgspec import structs

from bastion.journal.control import why_paused
from bastion.model.job.image_ref import log_link
from bastion.model.job.start_conditions import conditions
from bastion.model.state.state import Job, State
from bastion.model.stored.events import Released
from bastion.model.wording import clock
from bastion.quota.quota import Quota
from bastion.schedule.eligibility import Obstacle, eligibility_of

from .what_if_state import NOBODY, WhatIfCase, WhatIfState, asking, granted_class, member


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldBack:
    """One obstacle.

    what: one word for scripts.
    text: what has to happen, for people.
    at: when it ends by time alone; None: it does not.
    """

    what: str
    text: str
    at: datetime | None = None


def gates(case: WhatIfCase, job: Job) -> Iterator[HeldBack]:
    """Yield all obstacles of this job, first those that people made."""
    if case.state.paused:
        yield HeldBack(what="paused", text=f"an admin's bastion resume: {why_paused(case.state)}")
    if job.held:
        yield HeldBack(what="held", text=f"launch release {job.id}: held by {job.held}")
    if case.inputs.quota is None:
        yield HeldBack(what="quota_file", text="a valid quota file: bastion quota check, bastion quota set")
        return
    yield from _barred(case.inputs.quota, job)
    if job.build:
        yield HeldBack(what="build", text=f"its image, which is being built: {log_link(job.build)}")
    for wanted in conditions(job.after):
        yield HeldBack(what="after", text=f"{wanted}{_standing(case.state, wanted.job, wanted.task)}")
    if job.begin and job.begin > case.now:
        yield HeldBack(what="begin", text=f"time: it begins at {clock(job.begin, case.now)}", at=job.begin)
    # Those obstacles are listed above; without them the next one shows.
    shut = eligibility_of(
        case.state, structs.replace(job, held=None, build="", after=(), begin=None), case.inputs.quota, case.now
    )
    if shut.bar is Obstacle.RETRY:
        yield HeldBack(what="retry", text=f"time: it is tried again at {shut.until:%H:%M:%S} UTC", at=shut.until)
    if shut.bar is Obstacle.PARALLEL:
        live = len(case.state.live[job.id])
        text = f"the end of one of its {live} tasks, or launch update {job.id} --max_parallel={live + 1}"
        yield HeldBack(what="max_parallel", text=text)


def _barred(quota: Quota, job: Job) -> Iterator[HeldBack]:
    if not quota.admits(job.user, job.project):
        line = f"a line for {job.user} in [project_membership] {job.project} of the quota file"
        yield HeldBack(what="membership", text=line)
    if not quota.grants(job.project, job.job_class):
        line = f"{job.job_class} in [project_classes] {job.project} of the quota file"
        yield HeldBack(what="class", text=f"{line}, or launch update {job.id} --class=standard")


def _standing(state: State, job: str, task: int | None) -> str:
    found = state.jobs.get(job)
    return f": it is {found.state if task is None else found.task_state(task)}" if found else ""


def lifted(case: WhatIfCase, job: Job) -> WhatIfCase:
    """Return the case without the obstacles that people made, as if they had just been removed."""
    quota = case.inputs.quota
    if quota is not None and not quota.admits(job.user, job.project):
        case = member(case, job.project, job.user)
    if quota is not None and not quota.grants(job.project, job.job_class):
        case = granted_class(case, job.project, job.job_class)
    if job.held:
        sketch = WhatIfState(case)
        sketch.happens(Released(request=NOBODY, user=NOBODY, job=job.id))
        case = sketch.case()
    return replace(case, state=structs.replace(case.state, paused=None)) if case.state.paused else case


def met(case: WhatIfCase, job: Job) -> WhatIfCase:
    """Return the case at the time when everything but room has come: its image, the ends of other jobs, its begin."""
    if job.build or job.after:
        case = asking(case, job.id, build="", after=(), since=case.now)
    live = len(case.state.live.get(job.id, ()))
    if job.max_parallel is not None and job.max_parallel <= live:
        case = asking(case, job.id, max_parallel=live + 1)
    at = max([case.now, *(each.at for each in gates(case, job) if each.at)])
    return case.at(at) if at > case.now else case
