"""The real clock, names and threads, behind their interfaces."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from ..model.interfaces import TaskEnd

# Where the system has it, use a clock that counts on through suspends: a laptop that slept has lost its leadership.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """This machine's time."""

    def wall(self) -> datetime:
        """Return the time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return the seconds since the machine's start."""
        return time.clock_gettime(_CLOCK)

    def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        time.sleep(max(0.0, seconds))


class RandomIds:
    """Names from the system's source of randomness."""

    def new(self) -> str:
        """Return 32 hexadecimal characters."""
        return uuid.uuid4().hex


class ThreadTasks:
    """Tasks on threads: one thread for each started task, and a pool for `map`.

    Threads are daemons: a call that hangs for ever cannot keep the process from ending.
    """

    def __init__(self, width: int = 32) -> None:
        self._width = width
        self._pool: ThreadPoolExecutor | None = None
        self._ended = threading.Condition()
        self._results: list[TaskEnd] = []
        self._begun: set[Hashable] = set()
        self._closed = False

    def start(self, task: Hashable, work: Callable[[], Any]) -> bool:
        """Start `work` on a thread of its own."""
        with self._ended:
            if self._closed or task in self._begun:
                return False
            self._begun.add(task)
        try:
            threading.Thread(target=self._run, args=(task, work), name=str(task), daemon=True).start()
        except RuntimeError:  # the system has no free thread now
            with self._ended:
                self._begun.discard(task)
            return False
        return True

    def finished(self) -> list[TaskEnd]:
        """Return the tasks that ended since the last call."""
        with self._ended:
            results, self._results = self._results, []
            self._begun -= {end.task for end in results}
            return results

    def wait(self, seconds: float) -> None:
        """Wait for a result that is not collected yet."""
        with self._ended:
            self._ended.wait_for(lambda: bool(self._results), timeout=max(0.0, seconds))

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Apply `work` to each item on the pool; return the results in order."""
        results: list[Any] = [None] * len(items)
        ahead = iter(range(len(items)))  # shared by all threads: each takes the next item, so none waits for a slow one

        def some() -> None:
            for number in ahead:
                results[number] = _attempt(work, items[number])

        if len(items) <= 1 or self._width <= 1:
            some()
            return results
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._width, thread_name_prefix="map")
        for done in [self._pool.submit(some) for _ in range(min(self._width, len(items)))]:
            done.result()
        return results

    def close(self) -> None:
        """Start no more work."""
        with self._ended:
            self._closed = True
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, task: Hashable, work: Callable[[], Any]) -> None:
        result, error = None, None
        try:
            result = work()
        except Exception as problem:  # `finished` returns it
            error = problem
        with self._ended:
            self._results.append(TaskEnd(task, result, error))
            self._ended.notify_all()


def _attempt(work: Callable[[Any], Any], item: Any) -> Any:
    try:
        return work(item)
    except Exception as problem:  # an item's failure is its result
        return problem
