"""Tiers: the parts of the capacity, best first, and the partitions that they form. Pure.

A partition is a run of neighbouring tiers. All that one task holds lies in one partition, but it may span several tiers
there. A task is named after the worst tier that it touches. It takes what it can from that tier, then from better
ones, so that better tiers keep as much as possible.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from .quota import Quota
from .resources import Resources, total

Tiers = list[dict[str, int]]


@dataclass(frozen=True, slots=True)
class Capacity:
    """The resources that there are now, by tier and partition.

    tiers: units by kind that each tier holds, best tier first.
    partition_starts: the numbers of the tiers at which a new partition begins, ascending. The first partition begins at tier 0.
    shut: for each partition, the kinds of which nothing new is given there for now. Empty: every kind is given.
    """

    tiers: tuple[Resources, ...]
    partition_starts: tuple[int, ...] = ()
    shut: tuple[frozenset[str], ...] = ()

    @property
    def partitions(self) -> tuple[range, ...]:
        """The tier numbers of each partition, best first."""
        return tuple(range(*ends) for ends in pairwise((0, *self.partition_starts, len(self.tiers))))

    def partition_of(self, tier: int) -> int:
        """Return the number of the partition that holds a tier. A tier that no longer exists counts to the last."""
        return bisect_right(self.partition_starts, tier)

    def total(self) -> dict[str, int]:
        """Return the units by kind that all tiers hold together."""
        return total(self.tiers)

    def of_partitions(self, max_tier: int | None = None) -> tuple[Resources, ...]:
        """Return the units by kind that each partition holds when nothing is in use, best first.

        Tiers worse than `max_tier` do not count (None: all count); a partition without any other tier is left out.
        """
        end = len(self.tiers) if max_tier is None else max_tier + 1
        return tuple(
            total(self.tiers[partition.start : min(partition.stop, end)])
            for partition in self.partitions
            if partition.start < end
        )


def tier_amounts(quota: Quota, reported: Resources | None) -> tuple[Resources, ...]:
    """Return what each tier holds now if all tiers form one partition. See `bounded`."""
    return bounded(quota.tiers, reported, quota.total())


def bounded(declared: Sequence[Resources], reported: Resources | None, named: Resources) -> tuple[Resources, ...]:
    """Return what the tiers of one partition hold now: kind by kind the smaller of `declared` and `reported`.

    `declared` are the amounts that the quota file gives these tiers, `reported` is what runners report for all of them
    together, and `named` holds every kind that the file names. Better tiers keep as much as possible. A kind that the
    file does not name is bounded by the report alone and goes to the first of these tiers. If `reported` is None,
    runners set no bound.
    """
    if reported is None:
        return tuple(declared)
    left = {kind: max(0, amount) for kind, amount in reported.items()}
    tiers: Tiers = []
    for tier in declared:
        kept = {kind: min(amount, left.get(kind, 0)) for kind, amount in tier.items()}
        tiers.append(kept)
        left |= {kind: left.get(kind, 0) - amount for kind, amount in kept.items()}
    tiers[0] |= {kind: amount for kind, amount in left.items() if kind not in named}
    return tuple(tiers)


def take(tiers: Tiers, demand: Iterable[tuple[str, int]]) -> int:
    """Take a demand that fits in all tiers together. Return the number of the tier that it is named after."""
    demand = tuple(demand)
    named = max((_last(tiers, kind, amount) for kind, amount in demand), default=0)
    charge(tiers, demand, named)
    return named


def charge(tiers: Tiers, demand: Iterable[tuple[str, int]], named: int) -> None:
    """Take a demand from the tier that it is named after, then from better ones, then from worse ones.

    What no tier has left is charged to the named tier, which then falls below 0.
    """
    named = min(named, len(tiers) - 1)  # a tier that no longer exists counts to the last one
    for kind, amount in demand:
        for tier in (*tiers[named::-1], *tiers[named + 1 :]):
            part = min(amount, max(0, tier.get(kind, 0)))
            if part:
                tier[kind] -= part
                amount -= part
        if amount:
            tiers[named][kind] = tiers[named].get(kind, 0) - amount


def free(capacity: tuple[Resources, ...], held: Iterable[tuple[Resources, int]]) -> Tiers:
    """Return what each tier has left after all that is held, given as (demand, tier) pairs.

    An amount is below 0 if more is held than there is.
    """
    tiers: Tiers = [dict(tier) for tier in capacity]
    for demand, tier in held:
        charge(tiers, demand.items(), tier)
    return tiers


def _last(tiers: Tiers, kind: str, amount: int) -> int:
    """Return the worst tier that has to be touched, walking from the best one."""
    for index, tier in enumerate(tiers):
        amount -= max(0, tier.get(kind, 0))
        if amount <= 0:
            return index
    return len(tiers) - 1
