"""The books of one side of the pool: of tiers that one task may span. Pure (they change only themselves)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from math import inf

from ..resources import Resources, minus, total
from ..shares import Demand
from ..tiers import Capacity, Tiers, charge, take
from .index import WantIndex


class Partition:
    """Starts as what the board leaves of its tiers; every decision is entered at once.

    `tiers` may be below 0 in a pool that shrank, `free` is their sum. `freeing` is what stopping attempts still hold, and
    nobody was promised, by the tier that it is named after; `pool` is what the tiers hold when nobody uses them. `first` is
    the number of the first tier: here they are counted from 0.
    """

    def __init__(self, pool: Sequence[Resources], board: WantIndex, span: range, shut: frozenset[str]) -> None:
        self.first, self._shut = span.start, shut
        self.pool = tuple(pool[span.start : span.stop])
        # What is named after a tier that is no more counts to the last one.
        self._end = inf if span.stop == len(pool) else span.stop
        self.tiers: Tiers = [dict(tier) for tier in self.pool]
        for tier in sorted(filter(self.covers, board.named)):
            charge(self.tiers, board.named[tier].items(), tier - self.first)
        self.freeing: Tiers = [{} for _ in self.pool]
        for tier in filter(self.covers, board.freeing):
            self.stop(tier, board.freeing[tier].items())
        self.free = total(self.tiers)

    def covers(self, tier: int) -> bool:
        """True if what is named after this tier lies here."""
        return self.first <= tier < self._end

    def gives(self, demand: Demand, max_tier: int | None) -> bool:
        """True if something of this kind may be given here at all, in a tier that will do."""
        if max_tier is not None and max_tier < self.first:
            return False
        return not (self._shut and any(kind in self._shut for kind, _ in demand))

    def has(self, demand: Demand, max_tier: int | None) -> bool:
        """True if it fits in what is free now, of the tiers that will do."""
        for kind, amount in demand:
            if amount > self.free.get(kind, 0):
                return False
        if max_tier is not None and max_tier - self.first < len(self.tiers) - 1:
            return self.gives(demand, max_tier) and not short(demand, self.tiers[: self._cut(max_tier)])
        return self.gives(demand, max_tier)

    def lack(self, demand: Demand, max_tier: int | None) -> dict[str, int]:
        """What is missing, by kind, even when all that stops is gone."""
        end = self._cut(max_tier)
        return short(demand, [*self.tiers[:end], *self.freeing[:end]])

    def start(self, demand: Demand, max_tier: int | None) -> int:
        """Give away free room; the tier it is named after."""
        add(self.free, demand, -1)
        return self.first + take(self.tiers if max_tier is None else self.tiers[: self._cut(max_tier)], demand)

    def lend(self, demand: Demand, max_tier: int | None) -> Tiers:
        """Give away free room that may be given back in the same round: what it is of each tier."""
        before = [dict(tier) for tier in self.tiers]
        self.start(demand, max_tier)
        return [minus(*tiers) for tiers in zip(before, self.tiers, strict=True)]

    def give_back(self, parts: Tiers) -> None:
        """Take back what was lent: it is free again."""
        for tier, part in zip(self.tiers, parts, strict=True):
            add(tier, part.items())
            add(self.free, part.items())

    def keep(self, demand: Demand, max_tier: int | None) -> Demand:
        """Keep room for what cannot start yet: free room first, the rest from what is being freed. What was free."""
        end = self._cut(max_tier)
        tiers, freeing = self.tiers[:end], self.freeing[:end]
        held = total(tiers)
        now = tuple((kind, min(amount, max(0, held.get(kind, 0)))) for kind, amount in demand)
        take(tiers, now)
        add(self.free, now, -1)
        missing = dict(now)
        take(freeing, [(kind, amount - missing[kind]) for kind, amount in demand])
        return now

    def stop(self, tier: int, demand: Iterable[tuple[str, int]]) -> None:
        """Enter that something stops that is named after this tier."""
        add(self.freeing[min(tier - self.first, len(self.freeing) - 1)], demand)

    def _cut(self, max_tier: int | None) -> int | None:
        return None if max_tier is None else max_tier + 1 - self.first


def sides(pool: Capacity, board: WantIndex) -> tuple[Partition, ...]:
    """The books of all sides, best first."""
    shut = pool.shut or repeat(frozenset[str]())
    return tuple(Partition(pool.tiers, board, span, kinds) for span, kinds in zip(pool.sides, shut, strict=False))


def short(demand: Demand, tiers: Sequence[Resources]) -> dict[str, int]:
    """What the tiers lack of a demand, by kind."""
    missing = {kind: amount - sum(tier.get(kind, 0) for tier in tiers) for kind, amount in demand}
    return {kind: amount for kind, amount in missing.items() if amount > 0}


def add(book: dict[str, int], rows: Iterable[tuple[str, int]], sign: int = 1) -> None:
    """Enter amounts in a book of units by kind; `sign` -1 takes them away."""
    for kind, amount in rows:
        book[kind] = book.get(kind, 0) + sign * amount
