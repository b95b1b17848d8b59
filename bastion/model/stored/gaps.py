"""Gaps: parts of the journal that cannot be read, and when they were written. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from ..state.state import State
from .records import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """A gap: journal objects in a row that cannot be read.

    first: number of the first one.
    last: number of the last one.
    problem: why they cannot be read.
    after: they were written after this time; None: the gap is at the beginning of what was read.
    before: they were written before this time; None: the gap is at the end of what was read.
    """

    first: int
    last: int
    problem: str
    after: datetime | None
    before: datetime | None = None


@dataclass(slots=True)
class Holes:
    """The gaps that were found so far. Neighbouring objects form one gap.

    found: the gaps, in order.
    """

    found: list[Hole] = field(default_factory=list)
    _now: datetime | None = None

    def passed(self, now: datetime) -> None:
        """Record that an object of this time was read: a gap before it was written before this time."""
        self._now = now
        if self.found and self.found[-1].before is None:
            self.found[-1] = replace(self.found[-1], before=now)

    def met(self, number: int, problem: str) -> None:
        """Record that an object cannot be read, or not all of it."""
        last = self.found[-1] if self.found else None
        if last and last.last == number - 1 and last.before is None:
            self.found[-1] = replace(last, last=number)
        else:
            self.found.append(Hole(first=number, last=number, problem=problem, after=self._now))


def lost_end(state: State, status: Status | None) -> list[Hole]:
    """Return what the journal lacks at its end, according to a status that was read before the journal.

    A status from a version that wrote no `head` proves nothing.
    """
    if status is None or not status.head or status.seq <= state.seq:
        return []
    problem = f"journal object {state.seq} is missing, which status.json knows; see bastion recover"
    return [Hole(first=state.seq, last=status.seq - 1, problem=problem, after=state.now)]
