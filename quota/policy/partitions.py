"""The accounts of one partition: the tiers that one task may span. Pure: a `Partition` changes only itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from math import inf

from ..resources import Resources, minus, total
from ..shares import Demand
from ..tiers import Capacity, Tiers, charge, take
from .index import WantIndex


class Partition:
    """The free and the freed room of one partition. It starts from the index; every decision is entered at once.

    Inside, tiers are counted from 0, so `first` is the number that the first tier has outside.

    first: the number of the first tier.
    capacity: the units by kind that each tier holds when nothing is in use.
    tiers: the units by kind that each tier has free. They may be below 0 if the capacity shrank.
    freeing: what attempts that stop still hold and no want was promised, by the tier that it is named after.
    free: the sum of `tiers`.
    """

    def __init__(self, capacity: Sequence[Resources], index: WantIndex, span: range, shut: frozenset[str]) -> None:
        self.first, self._shut = span.start, shut
        self.capacity = tuple(capacity[span.start : span.stop])
        # What is named after a tier that no longer exists counts to the last one.
        self._end = inf if span.stop == len(capacity) else span.stop
        self.tiers: Tiers = [dict(tier) for tier in self.capacity]
        for tier in sorted(filter(self.covers, index.named)):
            charge(self.tiers, index.named[tier].items(), tier - self.first)
        self.freeing: Tiers = [{} for _ in self.capacity]
        for tier in filter(self.covers, index.freeing):
            self.stop(tier, index.freeing[tier].items())
        self.free = total(self.tiers)

    def covers(self, tier: int) -> bool:
        """Return True if what is named after this tier lies here."""
        return self.first <= tier < self._end

    def gives(self, demand: Demand, max_tier: int | None) -> bool:
        """Return True if this demand may be given here at all, in a tier that will do."""
        if max_tier is not None and max_tier < self.first:
            return False
        return not (self._shut and any(kind in self._shut for kind, _ in demand))

    def has(self, demand: Demand, max_tier: int | None) -> bool:
        """Return True if the demand fits in what is free now in the tiers that will do."""
        for kind, amount in demand:
            if amount > self.free.get(kind, 0):
                return False
        if max_tier is not None and max_tier - self.first < len(self.tiers) - 1:
            return self.gives(demand, max_tier) and not short(demand, self.tiers[: self._cut(max_tier)])
        return self.gives(demand, max_tier)

    def could_give(self, demand: Demand, max_tier: int | None) -> bool:
        """Return True if this demand is given here once nothing is in use."""
        return self.gives(demand, max_tier) and not short(demand, self.capacity[: self._cut(max_tier)])

    def has_beyond(self, demand: Demand, max_tier: int | None, beyond: int) -> bool:
        """Return True if the demand fits in what is free now in the tiers worse than `beyond`, up to `max_tier`."""
        tiers = self.tiers[max(0, beyond + 1 - self.first) : self._cut(max_tier)]
        return self.gives(demand, max_tier) and not short(demand, tiers)

    def lack(self, demand: Demand, max_tier: int | None) -> dict[str, int]:
        """Return the units by kind that are missing even when all that stops is gone."""
        end = self._cut(max_tier)
        return short(demand, [*self.tiers[:end], *self.freeing[:end]])

    def start(self, demand: Demand, max_tier: int | None) -> int:
        """Give away free room. Return the number of the tier that it is named after."""
        add(self.free, demand, -1)
        return self.first + take(self.tiers if max_tier is None else self.tiers[: self._cut(max_tier)], demand)

    def lend(self, demand: Demand, max_tier: int | None) -> Tiers:
        """Give away free room that may come back in the same round. Return the part of each tier."""
        before = [dict(tier) for tier in self.tiers]
        self.start(demand, max_tier)
        return [minus(*tiers) for tiers in zip(before, self.tiers, strict=True)]

    def give_back(self, parts: Tiers) -> None:
        """Take back what `lend` gave away: it is free again."""
        for tier, part in zip(self.tiers, parts, strict=True):
            add(tier, part.items())
            add(self.free, part.items())

    def keep(self, demand: Demand, max_tier: int | None) -> Demand:
        """Keep room for a demand that cannot start yet: free room first, the rest from what is being freed.

        Return the part that was free.
        """
        now = self.set_aside(demand, max_tier)
        missing = dict(now)
        take(self.freeing[: self._cut(max_tier)], [(kind, amount - missing[kind]) for kind, amount in demand])
        return now

    def set_aside(self, demand: Demand, max_tier: int | None) -> Demand:
        """Keep free room for a demand, as far as there is any. Return what was kept."""
        tiers = self.tiers[: self._cut(max_tier)]
        held = total(tiers)
        now = tuple((kind, min(amount, max(0, held.get(kind, 0)))) for kind, amount in demand)
        take(tiers, now)
        add(self.free, now, -1)
        return now

    def stop(self, tier: int, demand: Iterable[tuple[str, int]]) -> None:
        """Enter that an attempt stops whose room is named after this tier."""
        add(self.freeing[min(tier - self.first, len(self.freeing) - 1)], demand)

    def _cut(self, max_tier: int | None) -> int | None:
        return None if max_tier is None else max_tier + 1 - self.first


def partitions(capacity: Capacity, index: WantIndex) -> tuple[Partition, ...]:
    """Return the accounts of all partitions, best first."""
    shut = capacity.shut or repeat(frozenset[str]())
    return tuple(
        Partition(capacity.tiers, index, span, kinds) for span, kinds in zip(capacity.partitions, shut, strict=False)
    )


def short(demand: Demand, tiers: Sequence[Resources]) -> dict[str, int]:
    """Return the units by kind that the tiers lack of a demand."""
    missing = {kind: amount - sum(tier.get(kind, 0) for tier in tiers) for kind, amount in demand}
    return {kind: amount for kind, amount in missing.items() if amount > 0}


def add(book: dict[str, int], rows: Iterable[tuple[str, int]], sign: int = 1) -> None:
    """Add amounts to an account of units by kind. With `sign` -1, subtract them."""
    for kind, amount in rows:
        book[kind] = book.get(kind, 0) + sign * amount
