"""The books of one round: what is free, what is being freed, and who uses how much. Pure (it changes only itself)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from quota.claims import Hold
from quota.resources import Resources, total
from quota.shares import Demand, amounts
from quota.tiers import free, take


class Room:
    """Starts as what the holds leave of the pool; every decision is entered at once.

    `free` may be below 0 in a pool that shrank. `freeing` is what stopping attempts still hold and nobody was promised.
    `used` counts all that a project holds or was given, by project; `staying` leaves out what stops.
    """

    def __init__(self, pool: tuple[Resources, ...], holds: Sequence[Hold]) -> None:
        self.tiers = free(pool, ((hold.demand, hold.tier) for hold in holds))
        self.free = total(self.tiers)
        self.freeing: dict[str, int] = defaultdict(int)
        self.used: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.staying: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self.users: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for hold in holds:
            self._book(hold.project, hold.user, amounts(hold.demand), stays=not hold.stopping)
            if hold.stopping:
                _add(self.freeing, hold.demand.items())

    def fits(self, demand: Demand) -> bool:
        """True if it fits in what is free now."""
        for kind, amount in demand:  # noqa: SIM110 - asked for every want, and a loop is twice as fast
            if amount > self.free.get(kind, 0):
                return False
        return True

    def lack(self, demand: Demand) -> dict[str, int]:
        """What is missing, by kind, even when all that stops is gone."""
        missing = {kind: amount - self.free.get(kind, 0) - self.freeing[kind] for kind, amount in demand}
        return {kind: amount for kind, amount in missing.items() if amount > 0}

    def start(self, project: str, user: str, demand: Demand) -> int:
        """Give away free room; the tier it is named after."""
        self._book(project, user, demand, stays=True)
        _add(self.free, demand, -1)
        return take(self.tiers, demand)

    def keep(self, project: str, user: str, demand: Demand) -> None:
        """Keep room for a task that cannot start yet: free room first, the rest from what is being freed."""
        self._book(project, user, demand, stays=True)
        now = tuple((kind, min(amount, max(0, self.free.get(kind, 0)))) for kind, amount in demand)
        _add(self.freeing, demand, -1)
        _add(self.freeing, now)
        _add(self.free, now, -1)
        take(self.tiers, now)

    def stop(self, hold: Hold) -> None:
        """Enter that an attempt will stop."""
        _add(self.freeing, hold.demand.items())
        _add(self.staying[hold.project], hold.demand.items(), -1)

    def _book(self, project: str, user: str, demand: Demand, *, stays: bool) -> None:
        _add(self.used[project], demand)
        _add(self.users[project, user], demand)
        if stays:
            _add(self.staying[project], demand)


def _add(book: dict[str, int], rows: Iterable[tuple[str, int]], sign: int = 1) -> None:
    for kind, amount in rows:
        book[kind] = book.get(kind, 0) + sign * amount
