"""The units that each project is promised of the present capacity, and how much of them it uses. Pure.

Shares are exact fractions, but jobs take whole units, so promises are counted in whole units. The shares of a kind are
given out whole, by largest remainders: each project gets the whole units of its share, and the units that are left go
to the projects with the largest remainders, then by name. Shares that differ from all of a kind only by a person's
rounding (0.333 three times) count as all of it. A kind without any share belongs to no project: it bounds what fits,
and counts neither as used share nor as borrowed.

Ratios are quotients of whole numbers. Python rounds such a quotient correctly, so equal ratios are equal floats. Where
two ratios are closer than floats can show, the tie-break decides: this is exact enough, and always the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache

from .demand import RULES
from .quota import Quota
from .resources import Resources

TOLERANCE = Fraction(1, 200)  # a person's rounding: 0.333 three times is all, and 1.005 is not yet more than all

WHOLE = 2
"""From these rules on, shares are given out whole."""

CAPACITIES = 16
"""The most capacities for which the promises of one quota are cached. Every decision needs the promises."""

Demand = tuple[tuple[str, int], ...]  # kinds and amounts above 0


def amounts(demand: Resources) -> Demand:
    """Return the rows of a demand with an amount above 0. The answer is cached, because there are few shapes."""
    return _asked(tuple(demand.items()))


@lru_cache(4_096)
def _asked(rows: Demand) -> Demand:
    return tuple(row for row in rows if row[1] > 0)


def promised(share: Fraction, total: int) -> int:
    """Return the whole units that a share of `total` promises.

    A share may miss the last of these units a little, as a person rounds: by at most half a unit, and by at most
    `TOLERANCE` of the total.
    """
    part, whole = share.numerator * total, share.denominator
    slack = min(
        TOLERANCE.denominator, 2 * TOLERANCE.numerator * total
    )  # the slack is half a unit at most, and no more than TOLERANCE of the total
    return (2 * TOLERANCE.denominator * part + slack * whole) // (2 * TOLERANCE.denominator * whole)


def given_out(shares: Mapping[str, Fraction], total: int, fixed: Collection[str] = ()) -> dict[str, int]:
    """Return the whole units of a kind that each project is promised. Their sum is all that the shares come to.

    `fixed` are the projects whose share the quota file gives in units. While the whole total is there, they get
    exactly these units.
    """
    whole = sum(shares.values(), Fraction(0))
    said = sum((share for project, share in shares.items() if project in fixed), Fraction(0))
    is_all = whole > said and abs(whole - 1) <= TOLERANCE
    scale = (1 - said) / (whole - said) if is_all else Fraction(1)
    exact = {project: share * total * (1 if project in fixed else scale) for project, share in shares.items()}
    found = {project: int(part) for project, part in exact.items()}
    left = (total if is_all else promised(whole, total)) - sum(found.values())
    # The key is the negated remainder, so the largest remainder comes first.
    for project in sorted(found, key=lambda name: (found[name] - exact[name], name))[: max(0, left)]:
        found[project] += 1
    return found


def units(quota: Quota, capacity: Resources) -> Mapping[str, Mapping[str, int]]:
    """Return the whole units that a capacity promises to each project with a share, by project and kind. It is cached."""
    known, asked = quota.promises, tuple(sorted(capacity.items()))
    if asked not in known:
        if len(known) >= CAPACITIES:
            known.clear()
        known[asked] = _units(quota, capacity)
    return known[asked]


def _units(quota: Quota, capacity: Resources) -> dict[str, dict[str, int]]:
    by_kind: dict[str, dict[str, Fraction]] = defaultdict(dict)
    for project, row in quota.shares.items():
        for kind, share in row.items():
            by_kind[kind][project] = share
    found: dict[str, dict[str, int]] = {project: {} for project in quota.shares}
    for kind, shares in by_kind.items():
        fixed = {project for project in shares if (project, kind) in quota.amounts}
        for project, amount in given_out(shares, capacity.get(kind, 0), fixed).items():
            found[project][kind] = amount
    return found


def _rounded_down(quota: Quota, capacity: Resources) -> Mapping[str, Mapping[str, int]]:
    """Return the promises by the first rules: each share is rounded down for itself, as `promised` does it."""
    return {
        project: {kind: promised(share, capacity.get(kind, 0)) for kind, share in row.items()}
        for project, row in quota.shares.items()
    }


_NONE = (0, 1)


class Shares:
    """The promises of one quota on one capacity, by one version of the rules. They are computed once."""

    def __init__(self, quota: Quota, capacity: Resources, rules: int = RULES) -> None:
        self.capacity, self._rules = capacity, rules
        self.governed = frozenset(kind for row in quota.shares.values() for kind, share in row.items() if share)
        self._units = units(quota, capacity) if rules >= WHOLE else _rounded_down(quota, capacity)
        self._exact: dict[str, dict[str, tuple[int, int]]] = {}  # numerator and denominator; 0: no share
        for project, row in quota.shares.items():
            self._exact[project] = {
                kind: (share.numerator * capacity.get(kind, 0), share.denominator) for kind, share in row.items()
            }

    def units(self, project: str) -> Mapping[str, int]:
        """Return the whole units promised to the project, by kind. A missing kind is 0."""
        return self._units.get(project, {})

    def within(self, project: str, used: Resources, demand: Iterable[tuple[str, int]]) -> bool:
        """Return True if the project, which uses this much, stays within its share with this demand added."""
        units = self.units(project)
        for kind, amount in demand:  # noqa: SIM110 - asked for every line, and a loop is twice as fast
            if kind in self.governed and used.get(kind, 0) + amount > units.get(kind, 0):
                return False
        return True

    def due(self, project: str, used: Resources, demand: Iterable[tuple[str, int]]) -> bool:
        """Return True if this demand is promised: it stays within the share, or it is the one task of an unused share.

        That one task may ask for no more than the share rounded up. It is promised by the rules from `WHOLE` on.
        """
        units = self.units(project)
        for kind, amount in demand:
            use = used.get(kind, 0)
            is_more = kind in self.governed and use + amount > units.get(kind, 0)
            if is_more and (use or self._rules < WHOLE or amount > self._most(project, kind)):
                return False
        return True

    def _most(self, project: str, kind: str) -> int:
        """Return the share of a kind, rounded up to whole units."""
        part, whole = self._exact.get(project, {}).get(kind, _NONE)
        return -(-part // whole)

    def lent(self, project: str, used: Resources) -> Resources:
        """Return what is `borrowed` of those kinds of which the project uses more than its share rounded up.

        So a project keeps the one task of a share that is too small for it. By the rules before `WHOLE` it is all that
        is borrowed.
        """
        over = self.borrowed(project, used)
        if self._rules < WHOLE:
            return over
        return {kind: amount for kind, amount in over.items() if used[kind] > self._most(project, kind)}

    def borrowed(self, project: str, used: Resources) -> Resources:
        """Return the units that the project uses beyond its share, by kind. A kind without shares is never borrowed."""
        units = self.units(project)
        over = {kind: used.get(kind, 0) - units.get(kind, 0) for kind in self.governed}
        return {kind: amount for kind, amount in sorted(over.items()) if amount > 0}

    def over(self, project: str, used: Resources, kind: str) -> bool:
        """Return True if the project, which uses this much, has borrowed some of this kind."""
        return kind in self.governed and used.get(kind, 0) > self.units(project).get(kind, 0)

    def turn(self, project: str, used: Resources, demand: Demand) -> tuple[bool, float]:
        """Return the rank of the project after it takes this demand. The smaller rank goes first.

        The rank is the largest ratio of use to share over the kinds of the demand. A project without a share of one of
        them comes after all projects with shares, and its rank is the fraction of the capacity that it uses. Kinds of which
        no project has a share count only if the demand has no other kind; their rank is the same fraction.
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
        """Return a lower bound of the ratio that `turn` gives for any demand."""
        shared = self._exact.get(project, {}).items()
        ratios = [used.get(kind, 0) * whole / part for kind, (part, whole) in shared if part]
        parts = [
            used.get(kind, 0) / amount for kind, amount in self.capacity.items() if kind not in self.governed and amount
        ]
        return min((*ratios, *parts), default=0.0)

    def dominant(self, used: Resources) -> float:
        """Return the fraction of the capacity that this use is; of all kinds the largest."""
        return self._part(used.items())

    def _part(self, rows: Iterable[tuple[str, int]]) -> float:
        return max((use / max(1, self.capacity.get(kind, 0)) for kind, use in rows), default=0.0)
