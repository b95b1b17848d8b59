"""Sum an amount that changes now and then over time: exactly, in equal parts of a window.

A `TimeIntegral` is mutable and changes only itself. Pure but for itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Window:
    """A span of time.

    since: its beginning, which belongs to it.
    until: its end, which does not belong to it.
    parts: the number of parts of equal length that sums are kept for.
    """

    since: datetime
    until: datetime
    parts: int = 1

    @property
    def length(self) -> int:
        """Return its length in microseconds."""
        return (self.until - self.since) // MICROSECOND

    def place(self, moment: datetime) -> int:
        """Return the microseconds from its beginning to the moment, at least 0 and at most its length."""
        return min(max(0, (moment - self.since) // MICROSECOND), self.length)

    def edge(self, part: int) -> int:
        """Return where a part begins, in microseconds."""
        return self.length * part // self.parts

    def holds(self, moment: datetime) -> bool:
        """Return True if the moment is in the window."""
        return self.since <= moment < self.until


class TimeIntegral:
    """The sum of an amount over time, in units times microseconds: one sum for each part of the window."""

    __slots__ = ("_at", "_level", "_part", "_window", "sums")

    def __init__(self, window: Window) -> None:
        self.sums = [0] * window.parts
        self._window = window
        self._at = self._level = self._part = 0

    def add(self, place: int, amount: int) -> None:
        """Change the level by `amount` from this place on."""
        self.advance(place)
        self._level += amount

    def set(self, place: int, level: int) -> None:
        """Set the level from this place on."""
        self.add(place, level - self._level)

    def take_back(self, start: int, end: int, amount: int) -> None:
        """Subtract `amount` between these two places, which must be in the past."""
        for part in range(len(self.sums)):
            overlap = min(end, self._window.edge(part + 1)) - max(start, self._window.edge(part))
            self.sums[part] -= amount * max(0, overlap)

    def advance(self, place: int) -> None:
        """Sum up to this place. A place that is earlier than the last one changes nothing."""
        while place > self._at:
            end = self._window.edge(self._part + 1)
            step = min(place, end)
            self.sums[self._part] += self._level * (step - self._at)
            self._at = step
            if step == end and self._part + 1 < self._window.parts:
                self._part += 1
