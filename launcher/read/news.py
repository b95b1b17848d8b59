"""Whether there is something new to tell since the last look, more than that time has passed. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from bastion.model.stored.status import word

from .queue import Queue
from .rows import Row


@dataclass(frozen=True, slots=True)
class Told:
    """What a look showed: how far the journal went, the jobs, and whether the bastion was alive."""

    seq: int
    rows: tuple[Row, ...]
    alive: str

    def is_news(self, before: Told | None) -> bool:
        """True if it differs from what was told before. While the journal stands still, reasons only count down."""
        if before is None or before.alive != self.alive:
            return True
        if before.seq != self.seq:
            return before.rows != self.rows
        return [_still(row) for row in before.rows] != [_still(row) for row in self.rows]


def told(shown: Queue) -> Told:
    """What these jobs look like now; the state that they are in will change."""
    view = shown.view
    alive = word(view.status, now=view.now, died=False)
    return Told(view.state.seq, tuple(shown.rows()), alive)


def _still(row: Row) -> Row:
    return {**row, "reason": ""}
