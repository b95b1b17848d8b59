"""What must hold of shares as people read them: all of a kind is promised to somebody, and who left a project borrows."""

from __future__ import annotations

from bastion.events import AnyEvent, FileChanged
from bastion.plan import inputs
from bastion.state import State
from bastion.usage import shares, usage
from quota.model import Quota
from quota.resources import Resources, plus
from worlds.broken import Broken


def event(event: AnyEvent, truth: State) -> None:
    """An event of the journal: with a new quota file no unit is nobody's. Raises `Broken`."""
    quota = inputs(truth).quota
    if quota is None or not isinstance(event, FileChanged):
        return
    promised = shares(truth, quota)
    for kind in promised.governed:
        given, there = sum(promised.units(project).get(kind, 0) for project in quota.shares), promised.pool.get(kind, 0)
        if sum(row.get(kind, 0) for row in quota.shares.values()) == 1 and given != there:
            raise Broken(f"shares that are all of the {kind} promise {given} of {there} units: the others are nobody's")


def written(truth: State) -> None:
    """After a journal object all that those hold who left their project counts as borrowed. Raises `Broken`."""
    quota = inputs(truth).quota
    if quota is None or quota.is_open or not (left := _left(truth, quota)):
        return
    told = usage(truth, quota)
    for kind, amount in left.items():
        borrowed = sum(use.borrowed for use in told if use.kind == kind and use.project not in quota.members)
        if borrowed != amount:
            raise Broken(f"who left a project holds {amount} {kind}, and {borrowed} of it count as borrowed")


def _left(truth: State, quota: Quota) -> Resources:
    """What they hold, by the plain names of the file."""
    held: Resources = {}
    for _, job, _ in truth.live_attempts():
        if job.user not in quota.members.get(job.project, ()):
            held = plus(held, job.demand)
    return held
