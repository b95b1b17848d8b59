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
from heapq import merge

from quota.board import Board, Line, began
from quota.claims import Knobs, Want
from quota.resources import total
from quota.shares import Shares

GANG = 8
"""Who asks for at least so many units of a kind that has shares is a gang: a machine's worth. For more, a large one."""

LARGE, QUEUE = 2.0, 5.0
"""How many times as patient a large gang is; and any other, for each time that the queue would fill the pool."""

AGAIN = timedelta(minutes=5)
"""Who is not worth the stops yet is looked at again so soon."""

LOOKED_AT = 50_000
"""So many attempts are looked at in one round, in search of victims and in vain."""


class Overdue:
    """Who is overdue at this moment. `searches` bounds how often victims are looked for in vain."""

    def __init__(self, board: Board, shares: Shares, now: datetime, knobs: Knobs) -> None:
        pool = shares.pool
        self._board, self._now = board, now
        self._kinds = shares.governed or pool.keys()
        pending: Mapping[str, int] = total(board.pending.values())
        self._queue = {kind: pending.get(kind, 0) / amount for kind, amount in pool.items() if amount}
        self._patience_s = knobs.gang_patience_s
        self.searches = max(4, LOOKED_AT // max(1, len(board.holds)))
        self.wakes: list[datetime] = []

    def wants(self) -> list[tuple[Want, datetime]]:
        """The overdue gangs, each since when it is so: the largest first, then who waits longest, if there are not too many.

        `wakes` are the moments at which others would join them.
        """
        lines = [line for lines in self._board.lines.values() for line in lines.values() if self._size(line) >= GANG]
        rows = sorted(
            (-self._size(line), began, job, self._patience(line)) for line in lines for began, job in self._of(line)
        )
        many = len(rows) > self.searches
        turn = int(self._now.timestamp()) // AGAIN.seconds * self.searches % len(rows) if many else 0
        rows = rows[turn:] + rows[:turn]  # of very many each gets its turn
        return [(self._board.wants[job], began + patience) for _, began, job, patience in rows]

    def has(self, want: Want, line: Line) -> bool:
        """True if this one is overdue."""
        return self._size(line) >= GANG and began(want) <= self._now - self._patience(line)

    def _of(self, line: Line) -> Iterator[tuple[datetime, str]]:
        patience = self._patience(line)
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

    def _patience(self, line: Line) -> timedelta:
        queue = max(self._queue.get(kind, 0.0) for kind, _ in line.demand)
        return timedelta(seconds=self._patience_s * (LARGE if self._size(line) > GANG else 1 + QUEUE * queue))

    def _size(self, line: Line) -> int:
        return max((amount for kind, amount in line.demand if kind in self._kinds), default=0)
