"""To which tier counts what runs: nothing restarts, only the books change. Pure (it changes only itself).

What runs is promoted to better tiers that are idle. For a want that takes no worse tier, those that said that they do
(`max_tier`) make room by moving to a worse one.
"""

from __future__ import annotations

from quota.board import Board, Name, rank
from quota.claims import Hold, Move
from quota.resources import Resources, plus
from quota.room import Room
from quota.shares import Demand, amounts
from quota.tiers import Tiers, take


class Moving:
    """The moves of one round. Who is `settled`, because stopped or moved in it, is not moved: its room is somebody's."""

    def __init__(self, board: Board, room: Room, pool: tuple[Resources, ...], settled: set[Name]) -> None:
        self._board, self._room, self._pool, self._settled = board, room, pool, settled
        self._moved: dict[Name, int] = {}

    @property
    def moves(self) -> tuple[Move, ...]:
        """What was decided."""
        return tuple(Move(job, task, tier) for (job, task), tier in sorted(self._moved.items()))

    def make_room(self, demand: Demand, max_tier: int) -> bool:
        """Move others to worse tiers until this fits. False if they cannot make enough room; then nobody is moved."""
        tiers, moved = [dict(tier) for tier in self._room.tiers], dict[Name, int]()
        for hold in sorted(
            self._movable(), key=lambda hold: (rank(hold), hold.since, hold.job, hold.task), reverse=True
        ):
            if not _fit(demand, tiers[: max_tier + 1]) and hold.tier <= max_tier:
                last = len(tiers) - 1 if hold.max_tier is None else hold.max_tier
                self._move(hold, tiers, range(max_tier + 1, last + 1), moved)
        if not _fit(demand, tiers[: max_tier + 1]):
            return False
        self._commit(tiers, moved)
        return True

    def promote(self) -> None:
        """Count what runs to better tiers as far as these are idle, the most important first."""
        tiers, moved = [dict(tier) for tier in self._room.tiers], dict[Name, int]()
        if not any(amount > 0 for tier in tiers[:-1] for amount in tier.values()):
            return
        for hold in sorted(self._movable(), key=lambda hold: (rank(hold), hold.since, hold.job, hold.task)):
            self._move(hold, tiers, range(hold.tier), moved)
        self._commit(tiers, moved)

    def _movable(self) -> list[Hold]:
        rows = self._board.holds.items()
        return [hold for name, hold in rows if not hold.stopping and name not in self._settled]

    def _move(self, hold: Hold, tiers: Tiers, to: range, moved: dict[Name, int]) -> None:
        """Move it if it counts to its tier as a whole, and fits into these as a whole."""
        demand = amounts(hold.demand)
        if hold.tier >= len(tiers) or not demand or not _fit(demand, tiers[to.start : to.stop]):
            return
        left = plus(tiers[hold.tier], dict(demand))
        if all(left[kind] <= self._pool[hold.tier].get(kind, 0) for kind, _ in demand):
            moved[hold.job, hold.task] = to.start + take(tiers[to.start : to.stop], demand)
            tiers[hold.tier] = left

    def _commit(self, tiers: Tiers, moved: dict[Name, int]) -> None:
        self._room.tiers[:] = tiers
        self._moved |= moved
        self._settled.update(moved)


def _fit(demand: Demand, tiers: Tiers) -> bool:
    return all(amount <= sum(tier.get(kind, 0) for tier in tiers) for kind, amount in demand)
