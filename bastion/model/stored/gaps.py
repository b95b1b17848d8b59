"""What of the journal cannot be read, and when it was written. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime

from ..state.state import State
from .records import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """Journal objects that cannot be read, `first` to `last`. What they hold was written `after` one time and `before` another.

    None stands for the beginning, or the end, of what was read.
    """

    first: int
    last: int
    problem: str
    after: datetime | None
    before: datetime | None = None


@dataclass(slots=True)
class Holes:
    """The holes that were met so far, neighbours as one."""

    found: list[Hole] = field(default_factory=list)
    _now: datetime | None = None

    def passed(self, now: datetime) -> None:
        """An object of this time was read: what was missing before it was written before it."""
        self._now = now
        if self.found and self.found[-1].before is None:
            self.found[-1] = replace(self.found[-1], before=now)

    def met(self, number: int, problem: str) -> None:
        """An object cannot be read, or not all of it."""
        last = self.found[-1] if self.found else None
        if last and last.last == number - 1 and last.before is None:
            self.found[-1] = replace(last, last=number)
        else:
            self.found.append(Hole(first=number, last=number, problem=problem, after=self._now))


def lost_end(state: State, status: Status | None) -> list[Hole]:
    """What the journal lacks at its end, by a status that was read before it. Older versions' statuses prove nothing."""
    if status is None or not status.head or status.seq <= state.seq:
        return []
    problem = f"journal object {state.seq} is missing, which status.json knows; see bastion recover"
    return [Hole(first=state.seq, last=status.seq - 1, problem=problem, after=state.now)]
