"""The books of one round: what is free, what is being freed, and who uses how much. Pure (it changes only itself)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quota.board import Board
from quota.claims import Hold
from quota.resources import Resources, total
from quota.shares import Demand, amounts
from quota.tiers import Tiers, charge, take

NOTHING: Resources = {}


class Room:
    """Starts as what the board leaves of the pool; every decision is entered at once.

    `tiers` may be below 0 in a pool that shrank. `freeing` is what stopping attempts still hold, and nobody was
    promised, by the tier that it is named after. `used` counts all that a project holds or was given; `staying` leaves
    out what stops.
    """

    def __init__(self, pool: Sequence[Resources], board: Board) -> None:
        self._pools = [total(pool[:end]) for end in range(1, len(pool) + 1)]
        self.tiers: Tiers = [dict(tier) for tier in pool]
        for tier in sorted(board.named):
            charge(self.tiers, board.named[tier].items(), tier)
        self.freeing: Tiers = [{} for _ in pool]
        for tier, book in board.freeing.items():
            _add(self.freeing[min(tier, len(pool) - 1)], book.items())
        self.free = total(self.tiers)
        self.used = {project: dict(book) for project, book in board.used.items() if book}
        self.staying = {project: dict(book) for project, book in board.used.items() if book}
        for project, book in board.stopping.items():
            _add(self.staying.get(project, {}), book.items(), -1)
        self._users = board.users
        self._given: dict[tuple[str, str], dict[str, int]] = {}

    def within_tier(self, max_tier: int | None) -> Resources:
        """What the tiers that will do hold when nobody uses them."""
        end = len(self._pools) if max_tier is None else min(max_tier + 1, len(self._pools))
        return self._pools[end - 1]

    def has(self, demand: Demand, max_tier: int | None = None) -> bool:
        """True if it fits in what is free now, of the tiers that will do."""
        for kind, amount in demand:
            if amount > self.free.get(kind, 0):
                return False
        return max_tier is None or max_tier >= len(self.tiers) - 1 or not _short(demand, self.tiers[: max_tier + 1])

    def lack(self, demand: Demand, max_tier: int | None = None) -> dict[str, int]:
        """What is missing, by kind, even when all that stops is gone."""
        end = None if max_tier is None else max_tier + 1
        return _short(demand, [*self.tiers[:end], *self.freeing[:end]])

    def use_of(self, project: str) -> Resources:
        """What a project holds or was given."""
        return self.used.get(project, NOTHING)

    def stays(self, project: str) -> Resources:
        """The same without what stops."""
        return self.staying.get(project, NOTHING)

    def use_of_user(self, project: str, user: str) -> Resources:
        """What a user of a project holds or was given."""
        given = self._given.get((project, user))
        return self._users.get((project, user), NOTHING) if given is None else given

    def start(self, project: str, user: str, demand: Demand, max_tier: int | None = None) -> int:
        """Give away free room; the tier it is named after."""
        self._book(project, user, demand)
        _add(self.free, demand, -1)
        return take(self.tiers if max_tier is None else self.tiers[: max_tier + 1], demand)

    def keep(self, project: str, user: str, demand: Demand, max_tier: int | None = None) -> None:
        """Keep room for a task that cannot start yet: free room first, the rest from what is being freed."""
        self._book(project, user, demand)
        end = None if max_tier is None else max_tier + 1
        tiers, freeing = self.tiers[:end], self.freeing[:end]
        held = total(tiers)
        now = tuple((kind, min(amount, max(0, held.get(kind, 0)))) for kind, amount in demand)
        take(tiers, now)
        _add(self.free, now, -1)
        missing = dict(now)
        take(freeing, [(kind, amount - missing[kind]) for kind, amount in demand])

    def stop(self, hold: Hold) -> None:
        """Enter that an attempt will stop."""
        demand = amounts(hold.demand)
        _add(self.freeing[min(hold.tier, len(self.freeing) - 1)], demand)
        _add(self.staying[hold.project], demand, -1)

    def _book(self, project: str, user: str, demand: Demand) -> None:
        _add(self.used.setdefault(project, {}), demand)
        _add(self.staying.setdefault(project, {}), demand)
        _add(self._given.setdefault((project, user), dict(self.use_of_user(project, user))), demand)


def _short(demand: Demand, tiers: Sequence[Resources]) -> dict[str, int]:
    missing = {kind: amount - sum(tier.get(kind, 0) for tier in tiers) for kind, amount in demand}
    return {kind: amount for kind, amount in missing.items() if amount > 0}


def _add(book: dict[str, int], rows: Iterable[tuple[str, int]], sign: int = 1) -> None:
    for kind, amount in rows:
        book[kind] = book.get(kind, 0) + sign * amount
