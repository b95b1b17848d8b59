"""Tiers: which pool of resources a task takes, best first. Pure.

A task may span tiers. It is named after the worst tier that it touches and takes what it can from there, then from
better ones, so that better tiers keep as much as possible.
"""

from __future__ import annotations

from collections.abc import Iterable

from quota.model import Quota
from quota.resources import Resources

Tiers = list[dict[str, int]]


def pool(quota: Quota, reported: Resources | None) -> tuple[Resources, ...]:
    """What each tier holds now: the smaller of the quota's total and what runners report, kind by kind.

    Better tiers keep as much as possible. A kind that the quota file does not name is bounded by what is reported
    and goes to tier 0. `None` reported: runners set no bound.
    """
    if reported is None:
        return quota.tiers
    left = {kind: max(0, amount) for kind, amount in reported.items()}
    tiers: Tiers = []
    for tier in quota.tiers:
        kept = {kind: min(amount, left.get(kind, 0)) for kind, amount in tier.items()}
        tiers.append(kept)
        left |= {kind: left.get(kind, 0) - amount for kind, amount in kept.items()}
    named = quota.total()
    tiers[0] |= {kind: amount for kind, amount in left.items() if kind not in named}
    return tuple(tiers)


def take(tiers: Tiers, demand: Iterable[tuple[str, int]]) -> int:
    """Take a demand that fits all tiers together; the tier it is named after."""
    demand = tuple(demand)
    named = max((_last(tiers, kind, amount) for kind, amount in demand), default=0)
    charge(tiers, demand, named)
    return named


def charge(tiers: Tiers, demand: Iterable[tuple[str, int]], named: int) -> None:
    """Take a demand from the tier it is named after, then better, then worse ones; the rest is owed by its own."""
    named = min(named, len(tiers) - 1)
    for kind, amount in demand:
        for tier in (*tiers[named::-1], *tiers[named + 1 :]):
            part = min(amount, max(0, tier.get(kind, 0)))
            if part:
                tier[kind] -= part
                amount -= part
        if amount:
            tiers[named][kind] = tiers[named].get(kind, 0) - amount


def free(pool: tuple[Resources, ...], held: Iterable[tuple[Resources, int]]) -> Tiers:
    """What is left of each tier after (demand, tier) of all that is held; below 0 if more is held than there is."""
    tiers: Tiers = [dict(tier) for tier in pool]
    for demand, tier in held:
        charge(tiers, demand.items(), tier)
    return tiers


def _last(tiers: Tiers, kind: str, amount: int) -> int:
    """The worst tier that has to be touched, walking from the best."""
    for index, tier in enumerate(tiers):
        amount -= max(0, tier.get(kind, 0))
        if amount <= 0:
            return index
    return len(tiers) - 1
