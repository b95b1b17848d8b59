"""What each project is promised of the pool as it is now, and how far along it is. Pure.

Shares are exact fractions; what they promise is counted in whole units, because jobs take whole units. A share that
misses a unit only by what a person rounds off (0.333 of 9) promises that unit. A kind of which nobody has a share
is nobody's: it bounds what fits, and counts neither as used share nor as borrowed.

Ratios are quotients of whole numbers. Python rounds such a quotient correctly, so equal ratios are equal floats, and
what is nearer than a float can tell goes by the tie-break: exact enough, and always the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from quota.model import Quota
from quota.resources import Resources

TOLERANCE = Fraction(1, 200)  # what a person rounds off: 0.333 three times is all, 1.005 is not yet more than all

Demand = tuple[tuple[str, int], ...]  # kinds and amounts above 0


def amounts(demand: Resources) -> Demand:
    """The kinds of which anything is asked for. Made once for each shape, of which there are few."""
    return _asked(tuple(demand.items()))


@lru_cache(4_096)
def _asked(rows: Demand) -> Demand:
    return tuple(row for row in rows if row[1] > 0)


def promised(share: Fraction, total: int) -> int:
    """Whole units that a share of `total` promises."""
    part, whole = share.numerator * total, share.denominator
    slack = min(
        TOLERANCE.denominator, 2 * TOLERANCE.numerator * total
    )  # half a unit at most, and no more than TOLERANCE
    return (2 * TOLERANCE.denominator * part + slack * whole) // (2 * TOLERANCE.denominator * whole)


_NONE = (0, 1)


class Shares:
    """The promises of one quota on one pool, computed once."""

    def __init__(self, quota: Quota, pool: Resources) -> None:
        self.pool = pool
        self.governed = frozenset(kind for row in quota.shares.values() for kind, share in row.items() if share)
        self._units: dict[str, dict[str, int]] = {}
        self._exact: dict[str, dict[str, tuple[int, int]]] = {}  # numerator and denominator; 0: no share
        for project, row in quota.shares.items():
            self._units[project] = {kind: promised(share, pool.get(kind, 0)) for kind, share in row.items()}
            self._exact[project] = {
                kind: (share.numerator * pool.get(kind, 0), share.denominator) for kind, share in row.items()
            }

    def units(self, project: str) -> Mapping[str, int]:
        """Whole units promised to the project, by kind; what is missing is 0."""
        return self._units.get(project, {})

    def within(self, project: str, used: Resources, demand: Iterable[tuple[str, int]]) -> bool:
        """True if the project, using this much, stays within its share with this demand added."""
        units = self.units(project)
        for kind, amount in demand:  # noqa: SIM110 - asked for every line, and a loop is twice as fast
            if kind in self.governed and used.get(kind, 0) + amount > units.get(kind, 0):
                return False
        return True

    def borrowed(self, project: str, used: Resources) -> Resources:
        """The units that the project uses beyond its share, by kind; what is nobody's is never borrowed."""
        units = self.units(project)
        over = {kind: used.get(kind, 0) - units.get(kind, 0) for kind in self.governed}
        return {kind: amount for kind, amount in sorted(over.items()) if amount > 0}

    def over(self, project: str, used: Resources, kind: str) -> bool:
        """True if the project, using this much, has borrowed some of this kind."""
        return kind in self.governed and used.get(kind, 0) > self.units(project).get(kind, 0)

    def turn(self, project: str, used: Resources, demand: Demand) -> tuple[bool, float]:
        """Where the project stands after taking this demand: smaller goes first.

        The largest ratio of use to share over the kinds demanded. Without a share of one of them it comes after all
        that have one, by its part of the pool. Kinds that are nobody's count, by the same, only if there is no other.
        """
        exact = self._exact.get(project, {})
        rows = [(kind, used.get(kind, 0) + amount) for kind, amount in demand if kind in self.governed]
        bare = [(kind, use) for kind, use in rows if not exact.get(kind, _NONE)[0]]
        if bare:
            return True, self._part(bare)
        if rows:
            return False, max(use * exact[kind][1] / exact[kind][0] for kind, use in rows)
        return False, self._part([(kind, used.get(kind, 0) + amount) for kind, amount in demand])

    def least(self, project: str, used: Resources) -> float:
        """What no ratio of `turn` is below, whatever is demanded."""
        shared = self._exact.get(project, {}).items()
        ratios = [used.get(kind, 0) * whole / part for kind, (part, whole) in shared if part]
        parts = [
            used.get(kind, 0) / amount for kind, amount in self.pool.items() if kind not in self.governed and amount
        ]
        return min((*ratios, *parts), default=0.0)

    def dominant(self, used: Resources) -> float:
        """The largest part of the pool that this use is, over all kinds."""
        return self._part(used.items())

    def _part(self, rows: Iterable[tuple[str, int]]) -> float:
        return max((use / max(1, self.pool.get(kind, 0)) for kind, use in rows), default=0.0)
