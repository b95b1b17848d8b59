"""Tiers: which pool of resources a task takes, best first, and the walls between them. Pure.

A task may span the tiers between two walls, which are a side. It is named after the worst tier that it touches and takes
what it can from there, then from better ones, so that better tiers keep as much as possible.
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
    """What each tier holds now, best first. With each tier of `walls` a new side begins; what one task has lies in one side.

    `shut` has for each side the kinds of which nothing new is given there for now; left out: of none.
    """

    tiers: tuple[Resources, ...]
    walls: tuple[int, ...] = ()
    shut: tuple[frozenset[str], ...] = ()

    @property
    def sides(self) -> tuple[range, ...]:
        """The numbers of the tiers of each side, best first."""
        return tuple(range(*ends) for ends in pairwise((0, *self.walls, len(self.tiers))))

    def side_of(self, tier: int) -> int:
        """The number of the side in which a tier lies; one that is no more lies in the last."""
        return bisect_right(self.walls, tier)

    def total(self) -> dict[str, int]:
        """What all tiers hold together."""
        return total(self.tiers)

    def of_sides(self, max_tier: int | None = None) -> tuple[Resources, ...]:
        """What each side holds when nobody uses it, of the tiers that will do."""
        end = len(self.tiers) if max_tier is None else max_tier + 1
        return tuple(total(self.tiers[side.start : min(side.stop, end)]) for side in self.sides if side.start < end)


def pool(quota: Quota, reported: Resources | None) -> tuple[Resources, ...]:
    """What each tier holds now where there are no walls; see `bounded`."""
    return bounded(quota.tiers, reported, quota.total())


def bounded(wished: Sequence[Resources], reported: Resources | None, named: Resources) -> tuple[Resources, ...]:
    """What the tiers of one side hold now: the smaller of what is wished and what runners report, kind by kind.

    Better tiers keep as much as possible. A kind that the quota file does not name at all is bounded by what is reported,
    and goes to the first of them. `None` reported: runners set no bound.
    """
    if reported is None:
        return tuple(wished)
    left = {kind: max(0, amount) for kind, amount in reported.items()}
    tiers: Tiers = []
    for tier in wished:
        kept = {kind: min(amount, left.get(kind, 0)) for kind, amount in tier.items()}
        tiers.append(kept)
        left |= {kind: left.get(kind, 0) - amount for kind, amount in kept.items()}
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
