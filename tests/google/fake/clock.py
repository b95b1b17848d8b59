"""Time in the fake: it stands still until it is advanced, or follows the real one; what is due happens in its order."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from itertools import count

BEGIN = 1_800_000_000.0
_TURN_S = 0.05
_PACIFIC = timezone(timedelta(hours=-8))


class Clock:
    """Seconds since 1970, and what is to happen when. Its lock is the one lock of the whole fake."""

    def __init__(self, start: float = BEGIN) -> None:
        self.lock = threading.RLock()
        self.moved = threading.Condition(self.lock)
        self._now = start
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._number = count()
        self._stop = threading.Event()
        self._runner: threading.Thread | None = None

    @property
    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self._now

    @property
    def runs(self) -> bool:
        """It goes on by itself."""
        return self._runner is not None

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Have `act` called when so many seconds have passed."""
        with self.lock:
            heapq.heappush(self._due, (self._now + seconds, next(self._number), act))

    def advance(self, seconds: float) -> None:
        """Let time pass. What becomes due happens, each at its own time."""
        with self.lock:
            end = self._now + seconds
            while self._due and self._due[0][0] <= end:
                at, _, act = heapq.heappop(self._due)
                self._now = max(self._now, at)
                act()
            self._now = max(self._now, end)
            self.moved.notify_all()

    def until(self, true: Callable[[], bool], patience_s: float) -> bool:
        """Let time pass until a condition holds, or so many seconds have passed. What it ends with."""
        with self.lock:
            end = self._now + patience_s
            while not true() and self._now < end:
                if self.runs:
                    self.moved.wait(_TURN_S)
                else:
                    self.advance(min(self._due[0][0], end) - self._now if self._due else end - self._now)
            return true()

    def follow(self, speed: float) -> None:
        """Go on by itself from now on, `speed` seconds in each real one."""
        self._runner = threading.Thread(target=self._run, args=(speed,), daemon=True)
        self._runner.start()

    def stop(self) -> None:
        """Stand still again."""
        self._stop.set()
        if self._runner:
            self._runner.join()

    def _run(self, speed: float) -> None:
        last = time.monotonic()
        while not self._stop.wait(_TURN_S):
            now = time.monotonic()
            self.advance((now - last) * speed)
            last = now

    def stamp(self, ahead_s: float = 0.0) -> str:
        """The time as TPU and most others write it."""
        return datetime.fromtimestamp(self._now + ahead_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"

    def compute_stamp(self) -> str:
        """The time as Compute Engine writes it."""
        return datetime.fromtimestamp(self._now, _PACIFIC).isoformat(timespec="milliseconds")
