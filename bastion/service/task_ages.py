"""Tasks that know since when each of them has run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..model.interfaces import Clock, Tasks


class TimedTasks:
    """A wrapper of other `Tasks`. `since` is the monotonic time at which each task began that is not collected yet."""

    def __init__(self, inner: Tasks, clock: Clock) -> None:
        self.since: dict[str, float] = {}
        self._inner, self._clock = inner, clock

    def start(self, name: str, work: Callable[[], Any]) -> bool:
        """Begin `work`. Return False if it cannot begin now, or a task of this name is not collected yet."""
        begun = self._inner.start(name, work)
        if begun:
            self.since[name] = self._clock.monotonic()
        return begun

    def finished(self) -> list[tuple[str, Any, Exception | None]]:
        """Return what ended since the last call."""
        ended = self._inner.finished()
        for name, _, _ in ended:
            self.since.pop(name, None)
        return ended

    def wait(self, seconds: float) -> None:
        """Wait for a result."""
        self._inner.wait(seconds)

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return `work` of each item."""
        return self._inner.map(work, items)

    def close(self) -> None:
        """Begin no more work."""
        self._inner.close()
