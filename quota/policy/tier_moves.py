"""Moves of running tasks between tiers. Nothing restarts; only the accounts change. Pure: it changes only itself.

Running tasks are promoted to better tiers that are idle. For a want that takes only better tiers, tasks that accept a
worse tier (`max_tier`) move there and make room. No task moves to another partition: its machines are others.
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
    """The moves of one round. Tasks in `settled` were stopped or moved in it; they are not moved again."""

    def __init__(self, index: WantIndex, room: Availability, settled: set[Name]) -> None:
        self._index, self._room, self._settled = index, room, settled
        self._moved: dict[Name, int] = {}

    @property
    def moves(self) -> tuple[Move, ...]:
        """The moves that were decided, by job and task."""
        return tuple(Move(job, task, tier) for (job, task), tier in sorted(self._moved.items()))

    def make_room(self, demand: Demand, max_tier: int) -> bool:
        """Move others to worse tiers until this demand fits, the least important first.

        Return False if they cannot make enough room; then nothing is moved.
        """
        partition = self._room.partition_of(max_tier)
        if not partition.has(demand, None):
            return False
        tiers, moved = [dict(tier) for tier in partition.tiers], dict[Name, int]()
        worst = max_tier - partition.first
        for hold in sorted(
            self._movable(partition), key=lambda hold: (rank(hold), hold.since, hold.job, hold.task), reverse=True
        ):
            if short(demand, tiers[: worst + 1]) and hold.tier <= max_tier:
                last = len(tiers) - 1 if hold.max_tier is None else hold.max_tier - partition.first
                self._move(hold, partition, tiers, range(worst + 1, last + 1), moved)
        if short(demand, tiers[: worst + 1]):
            return False
        self._commit(partition, tiers, moved)
        return True

    def promote(self) -> None:
        """Move running tasks to better tiers as far as these are idle, the most important task first."""
        for partition in self._room.partitions:
            tiers, moved = [dict(tier) for tier in partition.tiers], dict[Name, int]()
            if not any(amount > 0 for tier in tiers[:-1] for amount in tier.values()):
                continue
            for hold in sorted(
                self._movable(partition), key=lambda hold: (rank(hold), hold.since, hold.job, hold.task)
            ):
                self._move(hold, partition, tiers, range(hold.tier - partition.first), moved)
            self._commit(partition, tiers, moved)

    def _movable(self, partition: Partition) -> list[Holding]:
        rows = self._index.holds.items()
        return [
            hold
            for name, hold in rows
            if not hold.stopping and name not in self._settled and partition.covers(hold.tier)
        ]

    def _move(self, hold: Holding, partition: Partition, tiers: Tiers, to: range, moved: dict[Name, int]) -> None:
        """Move a task if all that it holds counts to its tier, and all of it fits into the tiers `to`."""
        demand, tier = amounts(hold.demand), hold.tier - partition.first
        if tier >= len(tiers) or not demand or short(demand, tiers[to.start : to.stop]):
            return
        left = plus(tiers[tier], dict(demand))
        if all(left[kind] <= partition.capacity[tier].get(kind, 0) for kind, _ in demand):
            moved[hold.job, hold.task] = partition.first + to.start + take(tiers[to.start : to.stop], demand)
            tiers[tier] = left

    def _commit(self, partition: Partition, tiers: Tiers, moved: dict[Name, int]) -> None:
        partition.tiers[:] = tiers
        self._moved |= moved
        self._settled.update(moved)
