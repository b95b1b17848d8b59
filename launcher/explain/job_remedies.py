"""Changes that may start a job: of the job itself, of other jobs, and by an admin. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bastion.model.state.state import Job
from bastion.model.wording import listed
from bastion.quota.demand import CLASSES

from .admin_remedies import grants
from .remedies import AmountChange, Told
from .smallest import Amounts
from .supply import Supply
from .what_if_state import WhatIfCase, asking, ended, held_back

TRIED = 4
"""Most jobs tried one by one, and most tried together. A change that needs more jobs is no useful advice."""


def levers(at: Supply) -> Iterator[AmountChange]:
    """Yield all changes, first those that the user can make."""
    if at.job.priority > 1:
        yield _priority(at.job)
    yield from (_class(at.job, name) for name in CLASSES if name != at.job.job_class)
    if at.job.max_tier < at.tiers - 1:
        yield _tier(at.job, at.tiers)
    yield _fewer(at) if at.job.replicas > 1 else _less(at)
    for holder in at.holders[:TRIED]:
        yield _others(at.job, [holder], [])
    if at.ahead:
        yield _others(at.job, [], at.ahead)
    if len(at.holders) > 1 or (at.holders and at.ahead):
        yield _others(at.job, at.holders[:TRIED], at.ahead, instead=True)
    yield from grants(at)


def _priority(job: Job) -> AmountChange:
    def made(case: WhatIfCase, steps: Amounts) -> WhatIfCase:
        return asking(case, job.id, priority=job.priority - steps["steps"])

    def told(steps: Amounts) -> Told:
        new = job.priority - steps["steps"]
        return f"priority {new}", f"launch update {job.id} --priority={new}", {"priority": new}

    top = {"steps": job.priority - 1}
    return AmountChange(what="priority", guess=top, top=top, made=made, told=told, later=True)


def _class(job: Job, name: str) -> AmountChange:
    def made(case: WhatIfCase, _: Amounts) -> WhatIfCase:
        return asking(case, job.id, job_class=name)

    def told(_: Amounts) -> Told:
        return f"class {name}", f"launch update {job.id} --class={name}", {"class": name}

    return AmountChange(what="class", guess={"": 1}, top={"": 1}, made=made, told=told, later=True)


def _tier(job: Job, tiers: int) -> AmountChange:
    own = job.max_tier

    def made(case: WhatIfCase, worse: Amounts) -> WhatIfCase:
        return asking(case, job.id, max_tier=own + worse["tiers"])

    def told(worse: Amounts) -> Told:
        tier = own + worse["tiers"]
        return f"tier {tier}", f"launch update {job.id} --max_tier={tier}", {"max_tier": tier}

    return AmountChange(what="max_tier", guess={"tiers": 1}, top={"tiers": tiers - 1 - own}, made=made, told=told)


def _less(at: Supply) -> AmountChange:
    """Ask for less of each kind."""
    job = at.job
    asked = {kind: n for kind, n in job.resources.items() if n}

    def less(amounts: Amounts) -> dict[str, int]:
        return {kind: asked[kind] - n for kind, n in amounts.items() if n}

    def made(case: WhatIfCase, amounts: Amounts) -> WhatIfCase:
        return asking(case, job.id, resources={**job.resources, **less(amounts)}, choices=())

    def told(amounts: Amounts) -> Told:
        words = [f"{n} instead of {asked[kind]} {kind}" for kind, n in less(amounts).items()]
        return f"asking for {listed(words)}", "", {"resources": {**job.resources, **less(amounts)}}

    top = {kind: n - 1 for kind, n in asked.items()}
    guess = {kind: min(n, top[kind]) for kind, n in at.lack().items()}
    return AmountChange(what="resources", guess=guess, top=top, made=made, told=told)


def _fewer(at: Supply) -> AmountChange:
    """Ask for fewer replicas."""
    job = at.job

    def made(case: WhatIfCase, fewer: Amounts) -> WhatIfCase:
        return asking(case, job.id, replicas=job.replicas - fewer["replicas"], choices=())

    def told(fewer: Amounts) -> Told:
        number = job.replicas - fewer["replicas"]
        return f"{number} instead of {job.replicas} replicas", "", {"num_replicas": number}

    top = {"replicas": job.replicas - 1}
    lack = max((-(-n // job.resources[kind]) for kind, n in at.lack().items()), default=0)
    return AmountChange(what="replicas", guess={"replicas": min(lack, top["replicas"])}, top=top, made=made, told=told)


def _others(job: Job, holders: Sequence[Job], ahead: Sequence[Job], *, instead: bool = False) -> AmountChange:
    """End the first of the holders, and hold the first of the jobs ahead."""

    def meant(number: Amounts) -> tuple[Sequence[Job], Sequence[Job]]:
        return holders[: number.get("ends", 0)], ahead[: number.get("ahead", 0)]

    def made(case: WhatIfCase, number: Amounts) -> WhatIfCase:
        over, back = meant(number)
        return held_back(ended(case, [other.id for other in over]), [other.id for other in back if other not in over])

    def told(number: Amounts) -> Told:
        over, back = meant(number)
        parts = [f"{verb} {_names(jobs)}" for verb, jobs in (("the end of", over), ("holding back", back)) if jobs]
        own = all(other.user == job.user for other in (*over, *back))
        verbs = (("launch stop", over), ("launch hold", back))
        how = "; ".join(f"{verb} {' '.join(other.id for other in jobs)}" for verb, jobs in verbs if jobs) if own else ""
        return listed(parts), how, {"end": [other.id for other in over], "hold": [other.id for other in back]}

    top = {name: len(jobs) for name, jobs in (("ends", holders), ("ahead", ahead)) if jobs}
    return AmountChange(what="others", guess=dict.fromkeys(top, 1), top=top, made=made, told=told, instead=instead)


def _names(jobs: Sequence[Job]) -> str:
    names = [f"{job.user}/{job.id}" for job in jobs[:TRIED]]
    return listed(names) if len(jobs) <= TRIED else f"{', '.join(names)} and {len(jobs) - TRIED} more"
