"""What is still promised to projects that wait for it. Pure (it changes only itself)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from quota.resources import Resources
from quota.shares import Demand, Shares


class Owed:
    """For each project the smaller of what it waits for and what its share has left, and the sum of that."""

    def __init__(self, shares: Shares, used: Mapping[str, Resources]) -> None:
        self._shares, self._used = shares, used
        self._pending: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._owed: dict[str, dict[str, int]] = defaultdict(dict)
        self._total: dict[str, int] = defaultdict(int)

    def wait(self, project: str, demand: Demand, count: int) -> None:
        """Enter tasks that wait."""
        pending = self._pending[project]
        for kind, amount in demand:
            pending[kind] += amount * count

    def settle(self, project: str) -> None:
        """Count anew what the project is owed, after its use or its waiting tasks changed."""
        units, used, owed = self._shares.units(project), self._used[project], self._owed[project]
        for kind, amount in self._pending[project].items():
            now = max(0, min(amount, units.get(kind, 0) - used.get(kind, 0)))
            self._total[kind] += now - owed.get(kind, 0)
            owed[kind] = now

    def spares(self, project: str, demand: Demand, free: Resources) -> bool:
        """True if the demand fits in what is free beyond all that other projects are owed."""
        own = self._owed[project]
        return all(amount <= free.get(kind, 0) - self._total[kind] + own.get(kind, 0) for kind, amount in demand)
