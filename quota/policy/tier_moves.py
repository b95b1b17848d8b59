"""To which tier counts what runs: nothing restarts, only the books change. Pure (it changes only itself).

What runs is promoted to better tiers that are idle. For a want that takes no worse tier, those that said that they do
(`max_tier`) make room by moving to a worse one. Nothing moves across a wall: behind it are other machines.
"""

from __future__ import annotations

from ..demand import Holding, Move
from ..resources import plus
from ..shares import Demand, amounts
from ..tiers import Tiers, take
from .availability import Availability
from .index import Name, WantIndex, rank
from .partitions import Partition, short


class TierMoves:
    """The moves of one round. Who is `settled`, because stopped or moved in it, is not moved: its room is somebody's."""

    def __init__(self, board: WantIndex, room: Availability, settled: set[Name]) -> None:
        self._board, self._room, self._settled = board, room, settled
        self._moved: dict[Name, int] = {}

    @property
    def moves(self) -> tuple[Move, ...]:
        """What was decided."""
        return tuple(Move(job, task, tier) for (job, task), tier in sorted(self._moved.items()))

    def make_room(self, demand: Demand, max_tier: int) -> bool:
        """Move others to worse tiers until this fits. False if they cannot make enough room; then nobody is moved."""
        side = self._room.side_of(max_tier)
        if not side.has(demand, None):
            return False
        tiers, moved = [dict(tier) for tier in side.tiers], dict[Name, int]()
        worst = max_tier - side.first
        for hold in sorted(
            self._movable(side), key=lambda hold: (rank(hold), hold.since, hold.job, hold.task), reverse=True
        ):
            if short(demand, tiers[: worst + 1]) and hold.tier <= max_tier:
                last = len(tiers) - 1 if hold.max_tier is None else hold.max_tier - side.first
                self._move(hold, side, tiers, range(worst + 1, last + 1), moved)
        if short(demand, tiers[: worst + 1]):
            return False
        self._commit(side, tiers, moved)
        return True

    def promote(self) -> None:
        """Count what runs to better tiers as far as these are idle, the most important first."""
        for side in self._room.sides:
            tiers, moved = [dict(tier) for tier in side.tiers], dict[Name, int]()
            if not any(amount > 0 for tier in tiers[:-1] for amount in tier.values()):
                continue
            for hold in sorted(self._movable(side), key=lambda hold: (rank(hold), hold.since, hold.job, hold.task)):
                self._move(hold, side, tiers, range(hold.tier - side.first), moved)
            self._commit(side, tiers, moved)

    def _movable(self, side: Partition) -> list[Holding]:
        rows = self._board.holds.items()
        return [
            hold for name, hold in rows if not hold.stopping and name not in self._settled and side.covers(hold.tier)
        ]

    def _move(self, hold: Holding, side: Partition, tiers: Tiers, to: range, moved: dict[Name, int]) -> None:
        """Move it if it counts to its tier as a whole, and fits into these as a whole."""
        demand, tier = amounts(hold.demand), hold.tier - side.first
        if tier >= len(tiers) or not demand or short(demand, tiers[to.start : to.stop]):
            return
        left = plus(tiers[tier], dict(demand))
        if all(left[kind] <= side.pool[tier].get(kind, 0) for kind, _ in demand):
            moved[hold.job, hold.task] = side.first + to.start + take(tiers[to.start : to.stop], demand)
            tiers[tier] = left

    def _commit(self, side: Partition, tiers: Tiers, moved: dict[Name, int]) -> None:
        side.tiers[:] = tiers
        self._moved |= moved
        self._settled.update(moved)
