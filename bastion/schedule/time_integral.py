"""An amount that changes now and then, summed over time: exactly, in equal parts of a window. Pure but for itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Window:
    """The time from `since` to before `until`, in `parts` of equal length."""

    since: datetime
    until: datetime
    parts: int = 1

    @property
    def length(self) -> int:
        """Its length in microseconds."""
        return (self.until - self.since) // MICROSECOND

    def place(self, moment: datetime) -> int:
        """Microseconds from its beginning, not before it and not after its end."""
        return min(max(0, (moment - self.since) // MICROSECOND), self.length)

    def edge(self, part: int) -> int:
        """Where a part begins, in microseconds."""
        return self.length * part // self.parts

    def holds(self, moment: datetime) -> bool:
        """True if the moment is in it."""
        return self.since <= moment < self.until


class TimeIntegral:
    """What was held, in units times microseconds: one sum for each part of the window."""

    __slots__ = ("_at", "_level", "_part", "_window", "sums")

    def __init__(self, window: Window) -> None:
        self.sums = [0] * window.parts
        self._window = window
        self._at = self._level = self._part = 0

    def add(self, place: int, amount: int) -> None:
        """From this place on it is more by `amount`, or less."""
        self.advance(place)
        self._level += amount

    def set(self, place: int, level: int) -> None:
        """From this place on it is this much."""
        self.add(place, level - self._level)

    def take_back(self, start: int, end: int, amount: int) -> None:
        """Between these places, which are behind us, it was less by so much."""
        for part in range(len(self.sums)):
            overlap = min(end, self._window.edge(part + 1)) - max(start, self._window.edge(part))
            self.sums[part] -= amount * max(0, overlap)

    def advance(self, place: int) -> None:
        """Sum up to this place. An earlier one than before changes nothing."""
        while place > self._at:
            end = self._window.edge(self._part + 1)
            step = min(place, end)
            self.sums[self._part] += self._level * (step - self._at)
            self._at = step
            if step == end and self._part + 1 < self._window.parts:
                self._part += 1
