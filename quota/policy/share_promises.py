"""The units that are still promised to projects that wait for them. Pure: the account changes only itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from ..resources import Resources
from ..shares import Demand, Shares
from .availability import Availability


class SharePromises:
    """The account of promises: for each project the smaller of what it waits for and what its share has left.

    The sum over all projects is kept, too.
    """

    def __init__(self, shares: Shares, room: Availability, pending: Mapping[str, Resources]) -> None:
        self._shares, self._room = shares, room
        self._pending = {project: dict(book) for project, book in pending.items()}
        self._owed: dict[str, dict[str, int]] = defaultdict(dict)
        self._total: dict[str, int] = defaultdict(int)
        for project in self._pending:
            self._settle(project)

    def less(self, project: str, demand: Demand, count: int) -> None:
        """Enter that `count` of the project's tasks no longer wait, or can never start.

        The project's use may have changed with it, so its promises are computed again.
        """
        pending = self._pending[project]
        for kind, amount in demand:
            pending[kind] -= amount * count
        self._settle(project)

    def spares(self, project: str, demand: Demand) -> bool:
        """Return True if the demand fits in free room that is not promised to other projects."""
        own, free = self._owed[project], self._room.free
        return all(amount <= free.get(kind, 0) - self._total[kind] + own.get(kind, 0) for kind, amount in demand)

    def _settle(self, project: str) -> None:
        units, used, owed = self._shares.units(project), self._room.use_of(project), self._owed[project]
        for kind, amount in self._pending[project].items():
            now = max(0, min(amount, units.get(kind, 0) - used.get(kind, 0)))
            self._total[kind] += now - owed.get(kind, 0)
            owed[kind] = now
