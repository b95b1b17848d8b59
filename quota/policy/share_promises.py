"""What is still promised to projects that wait for it. Pure (it changes only itself)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ..resources import Resources
from ..shares import Demand, Shares
from .availability import Availability


class SharePromises:
    """For each project the smaller of what it waits for and what its share has left, and the sum of that."""

    def __init__(self, shares: Shares, room: Availability, pending: Mapping[str, Resources]) -> None:
        self._shares, self._room = shares, room
        self._pending = {project: dict(book) for project, book in pending.items()}
        self._owed: dict[str, dict[str, int]] = defaultdict(dict)
        self._total: dict[str, int] = defaultdict(int)
        for project in self._pending:
            self._settle(project)

    def less(self, project: str, demand: Demand, count: int) -> None:
        """So many of its tasks wait no more, or in vain; its use may have changed."""
        pending = self._pending[project]
        for kind, amount in demand:
            pending[kind] -= amount * count
        self._settle(project)

    def spares(self, project: str, demand: Demand) -> bool:
        """True if the demand fits in what is free beyond all that other projects are owed."""
        own, free = self._owed[project], self._room.free
        return all(amount <= free.get(kind, 0) - self._total[kind] + own.get(kind, 0) for kind, amount in demand)

    def _settle(self, project: str) -> None:
        units, used, owed = self._shares.units(project), self._room.use_of(project), self._owed[project]
        for kind, amount in self._pending[project].items():
            now = max(0, min(amount, units.get(kind, 0) - used.get(kind, 0)))
            self._total[kind] += now - owed.get(kind, 0)
            owed[kind] = now
