"""Laws about shares, by the numbers that commands show.

Every unit of a kind is promised to a project; users who left a project borrow; and no project loses its own share to
another one.
"""

from __future__ import annotations

from bastion.journal.attempts import shape
from bastion.model.state.state import AttemptState, Cause, Job, State
from bastion.model.stored.events import AnyEvent, FileChanged, Stopping
from bastion.model.stored.journal_object import JournalObject
from bastion.quota.quota import Quota
from bastion.quota.resources import Resources, plus, total
from bastion.schedule.plan import inputs
from bastion.schedule.usage import shares, usage
from tests.simulation.parts.broken import Broken


def event(event: AnyEvent, truth: State) -> None:
    """Check, after a new quota file, that every unit is promised to a project. Raises `Broken`."""
    quota = inputs(truth).quota
    if quota is None or not isinstance(event, FileChanged):
        return
    promised = shares(truth, quota)
    for kind in promised.governed:
        given, there = (
            sum(promised.units(project).get(kind, 0) for project in quota.shares),
            promised.capacity.get(kind, 0),
        )
        if sum(row.get(kind, 0) for row in quota.shares.values()) == 1 and given != there:
            raise Broken(f"shares that are all of the {kind} promise {given} of {there} units: the others are nobody's")


def written(record: JournalObject, truth: State) -> None:
    """Check a journal object. Raises `Broken`."""
    quota = inputs(truth).quota
    if quota is None or quota.is_open:
        return
    _borrows(truth, quota)
    if inputs(truth).config.policy == "default":
        _gives(record, truth, quota)


def _gives(record: JournalObject, truth: State, quota: Quota) -> None:
    """Check that a project loses a task to another one only while its members use more than its share.

    Only the kinds that the task holds count, and only users who are members now. What the project holds after the
    decision counts, except what it gave to others. So the law need not know in which order the stops were chosen.
    """
    given: dict[str, list[Stopping]] = {}
    for event in record.events:
        if isinstance(event, Stopping) and event.cause is Cause.PREEMPTED:
            job = truth.jobs[event.job]
            if _belongs(job, quota) and not _is_own(truth, job, event.for_job, quota):
                given.setdefault(job.project, []).append(event)
    promised = shares(truth, quota)
    for project, stops in given.items():
        uses = _uses(truth, quota, project)
        for job in (truth.jobs[event.job] for event in stops):
            over = promised.borrowed(project, plus(uses, job.demand))
            if not over.keys().isdisjoint(job.demand):
                break
        else:
            what = f"{stops[-1].key} is stopped for {stops[-1].for_job or 'nobody'}"
            raise Broken(f"{what}, and {project} holds no more than its share")


def _belongs(job: Job, quota: Quota) -> bool:
    return job.user in quota.members.get(job.project, ())


def _is_own(truth: State, job: Job, other: str, quota: Quota) -> bool:
    wants = truth.jobs.get(other)
    return wants is not None and wants.project == job.project and _belongs(wants, quota)


def _uses(truth: State, quota: Quota, project: str) -> Resources:
    """Return what members of a project hold, without what they give to others, and what may be kept for them.

    Resources are kept for the next try of a task, and for a job for which others were stopped.
    """
    found: Resources = {}
    for _, job, attempt in truth.live_attempts():
        stays = attempt.state is not AttemptState.STOPPING or _is_own(truth, job, attempt.for_job, quota)
        if job.project == project and stays and _belongs(job, quota):
            found = plus(found, job.demand)
    for job in map(truth.jobs.__getitem__, truth.pending):
        if job.project == project and _belongs(job, quota):
            tries = [job.tasks[number].attempts for number in job.waiting]
            kept = [shape(job, each[-1].choice).demand for each in tries if each]
            found = total([found, *kept, *([job.demand] if job.id in truth.reclaims else [])])
    return found


def _borrows(truth: State, quota: Quota) -> None:
    """Check that all resources of users who left their project count as borrowed."""
    if not (left := _left(truth, quota)):
        return
    told = usage(truth, quota)
    for kind, amount in left.items():
        borrowed = sum(use.borrowed for use in told if use.kind == kind and use.project not in quota.members)
        if borrowed != amount:
            raise Broken(f"who left a project holds {amount} {kind}, and {borrowed} of it count as borrowed")


def _left(truth: State, quota: Quota) -> Resources:
    """Return what users who left their project hold, by the kinds of the file."""
    held: Resources = {}
    for _, job, _ in truth.live_attempts():
        if not _belongs(job, quota):
            held = plus(held, job.demand)
    return held
