"""Gangs that were overtaken for too long: they may reclaim what was lent to others. Pure.

A large demand waits until enough is free at once, while small demands take free room away piece by piece. So a gang
earns a right by waiting: when its patience ends, borrowers make room for it, as they do for a want within its share.
Until then nothing is kept for the gang. So no room is idle, and the policy need not know how long anything runs.

Patience is counted over all the time that a gang has waited. The patience of a gang of one machine's size grows with
the queue, because there are many such gangs: where all jobs wait long, they do, too. Larger gangs are few, and without
this right they would never find room.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from heapq import merge
from typing import NamedTuple

from ..demand import PolicySettings, Want
from ..resources import total
from ..shares import Demand, Shares
from .index import WantIndex, WorkClass, began

GANG = 8
"""The units of a kind with shares that make a demand a gang: as many as a machine has. With more it is a large gang."""

LARGE, QUEUE = 2.0, 5.0
"""The factors of patience. A large gang has `LARGE`; others have 1, plus `QUEUE` for each time the queue fills the
capacity."""

AGAIN = timedelta(minutes=5)
"""The time after which a gang that could not be served is looked at again."""

LOOKED_AT = 50_000
"""The most attempts that one round looks at in searches for victims that fail (at least four searches are made)."""


class Gang(NamedTuple):
    """The measures of a gang.

    size: the units that it asks for, of the kind of which it asks for most.
    patience: how long it waits before it is overdue.
    """

    size: int
    patience: timedelta


class OvertakenGangs:
    """The gangs that are overdue at this moment. `searches` is the most searches for victims that may fail."""

    def __init__(self, index: WantIndex, shares: Shares, now: datetime, settings: PolicySettings) -> None:
        capacity = shares.capacity
        self._index, self._now = index, now
        self._kinds = shares.governed or capacity.keys()
        pending: Mapping[str, int] = total(index.pending.values())
        self._queue = {kind: pending.get(kind, 0) / amount for kind, amount in capacity.items() if amount}
        self._patience_s = settings.gang_patience_s
        self.searches = max(4, LOOKED_AT // max(1, len(index.holds)))
        self.wakes: list[datetime] = []
        self._gang = cache(self._gang_of)

    def wants(self) -> list[tuple[Want, datetime]]:
        """Return the overdue gangs, each with the moment since when it is overdue.

        The largest comes first, then the one that waits longest. If there are more than `searches`, the list starts at
        another gang every few minutes. `wakes` gets the moments at which more gangs become overdue.
        """
        work_classes = [
            work_class for work_classes in self._index.work_classes.values() for work_class in work_classes.values()
        ]
        gangs = [(work_class, gang) for work_class in work_classes if (gang := self._gang(work_class.demand))]
        rows = sorted(
            (-gang.size, began, job, gang.patience)
            for work_class, gang in gangs
            for began, job in self._of(work_class, gang.patience)
        )
        many = len(rows) > self.searches
        turn = int(self._now.timestamp()) // AGAIN.seconds * self.searches % len(rows) if many else 0
        rows = rows[turn:] + rows[:turn]  # if there are very many, each gets its turn
        return [(self._index.wants[job], began + patience) for _, began, job, patience in rows]

    def has(self, want: Want, work_class: WorkClass) -> bool:
        """Return True if this want is an overdue gang."""
        gang = self._gang(work_class.demand)
        return gang is not None and began(want) <= self._now - gang.patience

    def _of(self, work_class: WorkClass, patience: timedelta) -> Iterator[tuple[datetime, str]]:
        last, seen = self._now - patience, set[str]()
        first = min((*work_class.again[:1], *work_class.sinces[:1]))[0]
        if first > last:
            self.wakes.append(first + patience)
            return
        for since, job in merge(work_class.again, work_class.sinces):
            if since > last:
                self.wakes.append(since + patience)
                return
            if job not in seen:
                seen.add(job)
                yield since, job

    def _gang_of(self, demand: Demand) -> Gang | None:
        """Return the size and the patience of a gang with this demand; None if the demand makes no gang."""
        size = max((amount for kind, amount in demand if kind in self._kinds), default=0)
        if size < GANG:
            return None
        queue = max(self._queue.get(kind, 0.0) for kind, _ in demand)
        return Gang(size, timedelta(seconds=self._patience_s * (LARGE if size > GANG else 1 + QUEUE * queue)))
