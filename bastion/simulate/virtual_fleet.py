"""A fleet that only computes when work would end. It stops at once and loses no machine. Pure but for itself."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from heapq import heappop, heappush

from ..model.interfaces import AttemptKey
from .workload import Arrival, WorkPace


class VirtualFleet:
    """A fleet that runs each attempt for the rest of its task's work."""

    def __init__(self, pace: WorkPace) -> None:
        self._pace = pace
        self._left: dict[tuple[str, int], timedelta] = {}
        self._begun: dict[AttemptKey, datetime] = {}
        self._ends: list[tuple[datetime, int, AttemptKey]] = []
        self._first: list[tuple[datetime, int, AttemptKey]] = []
        self._stopped: list[AttemptKey] = []
        self._number = 0

    def expect(self, arrival: Arrival) -> None:
        """Record the work of a job's tasks."""
        for task, work in enumerate(arrival.work):
            self._left[arrival.job, task] = work

    def begin(self, key: AttemptKey, now: datetime) -> None:
        """Start an attempt: it holds its machines from now on."""
        self._begun[key] = now
        self._number += 1  # attempts that end at the same moment are reported in the order of their start
        works = now + self._pace.before(key.attempt)
        heappush(self._ends, (works + self._left[key.job, key.task], self._number, key))
        heappush(self._first, (works + self._pace.checkpoint, self._number, key))

    def stop(self, key: AttemptKey, now: datetime) -> None:
        """End an attempt before its work is done. Saved work counts as done."""
        held = now - self._begun.pop(key)
        self._left[key.job, key.task] -= self._pace.saved(held, key.attempt)
        self._stopped.append(key)

    def next(self, now: datetime) -> datetime | None:
        """Return when there is something to report; None if nothing runs."""
        if self._stopped:
            return now
        while self._ends and self._ends[0][2] not in self._begun:  # stopped ones stay in the heap until they are first
            heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def over(self, now: datetime) -> Iterator[tuple[AttemptKey, bool]]:
        """Yield the attempts whose machines are gone by now, each once, and whether their work is done."""
        for key in self._stopped:
            yield key, False
        self._stopped = []
        while self._ends and self._ends[0][0] <= now:
            key = heappop(self._ends)[2]
            if self._begun.pop(key, None) is not None:
                del self._left[key.job, key.task]
                yield key, True

    def saved(self, now: datetime) -> Iterator[tuple[AttemptKey, datetime]]:
        """Yield the attempts that have their first checkpoint by now, each once, and when they wrote it."""
        while self._first and self._first[0][0] <= now:
            at, _, key = heappop(self._first)
            if key in self._begun:
                yield key, at
