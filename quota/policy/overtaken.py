"""Gangs that were overtaken for too long: they may call in what was lent to others. Pure.

Whoever asks for much waits until so much is free at once, and whoever asks for little takes it away piece by piece. So
a gang earns a right by waiting: when its patience ends, borrowers make room for it, as they do for a want within its
share. Until then nothing is kept for it, so nothing idles, and how long anything runs need not be known.

Patience is counted over all the time that a gang has waited. That of a gang of a machine's size grows with the queue, for
there are many: where all wait for long, so do they. Larger ones are few, and would never find room otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from heapq import merge
from typing import NamedTuple

from ..demand import Knobs, Want
from ..resources import total
from ..shares import Demand, Shares
from .index import WantIndex, WorkClass, began

GANG = 8
"""Who asks for at least so many units of a kind that has shares is a gang: a machine's worth. For more, a large one."""

LARGE, QUEUE = 2.0, 5.0
"""How many times as patient a large gang is; and any other, for each time that the queue would fill the pool."""

AGAIN = timedelta(minutes=5)
"""Who is not worth the stops yet is looked at again so soon."""

LOOKED_AT = 50_000
"""So many attempts are looked at in one round, in search of victims and in vain."""


class Gang(NamedTuple):
    """How much it asks for, and how long it waits before it is overdue."""

    size: int
    patience: timedelta


class OvertakenGangs:
    """Who is overdue at this moment. `searches` bounds how often victims are looked for in vain."""

    def __init__(self, board: WantIndex, shares: Shares, now: datetime, knobs: Knobs) -> None:
        pool = shares.pool
        self._board, self._now = board, now
        self._kinds = shares.governed or pool.keys()
        pending: Mapping[str, int] = total(board.pending.values())
        self._queue = {kind: pending.get(kind, 0) / amount for kind, amount in pool.items() if amount}
        self._patience_s = knobs.gang_patience_s
        self.searches = max(4, LOOKED_AT // max(1, len(board.holds)))
        self.wakes: list[datetime] = []
        self._gang = cache(self._gang_of)

    def wants(self) -> list[tuple[Want, datetime]]:
        """The overdue gangs, each since when it is so: the largest first, then who waits longest, if there are not too many.

        `wakes` are the moments at which others would join them.
        """
        lines = [line for lines in self._board.lines.values() for line in lines.values()]
        gangs = [(line, gang) for line in lines if (gang := self._gang(line.demand))]
        rows = sorted(
            (-gang.size, began, job, gang.patience)
            for line, gang in gangs
            for began, job in self._of(line, gang.patience)
        )
        many = len(rows) > self.searches
        turn = int(self._now.timestamp()) // AGAIN.seconds * self.searches % len(rows) if many else 0
        rows = rows[turn:] + rows[:turn]  # of very many each gets its turn
        return [(self._board.wants[job], began + patience) for _, began, job, patience in rows]

    def has(self, want: Want, line: WorkClass) -> bool:
        """True if this one is overdue."""
        gang = self._gang(line.demand)
        return gang is not None and began(want) <= self._now - gang.patience

    def _of(self, line: WorkClass, patience: timedelta) -> Iterator[tuple[datetime, str]]:
        last, seen = self._now - patience, set[str]()
        first = min((*line.again[:1], *line.sinces[:1]))[0]
        if first > last:
            self.wakes.append(first + patience)
            return
        for since, job in merge(line.again, line.sinces):
            if since > last:
                self.wakes.append(since + patience)
                return
            if job not in seen:
                seen.add(job)
                yield since, job

    def _gang_of(self, demand: Demand) -> Gang | None:
        """What there is to know of those who ask for this; None if they are no gang."""
        size = max((amount for kind, amount in demand if kind in self._kinds), default=0)
        if size < GANG:
            return None
        queue = max(self._queue.get(kind, 0.0) for kind, _ in demand)
        return Gang(size, timedelta(seconds=self._patience_s * (LARGE if size > GANG else 1 + QUEUE * queue)))
