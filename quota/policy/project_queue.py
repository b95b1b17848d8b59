"""The order inside a project in the course of one round: class, priority, who used least, then the journal. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heapreplace

from msgspec import Struct

from ..demand import Want
from .index import Place, WorkClass
from .partitions import Partition

Entry = tuple[int, int, float, int, str, str, int]  # class, priority, weight, order, job, user, place in the line


class Ask(Struct, eq=False, gc=False):
    """A want in the course of one round: how many of its tasks still wait, and for how many room is kept, last on which side."""

    want: Want
    line: WorkClass
    left: int
    kept: int = 0
    side: Partition | None = None


class ProjectQueue:
    """The wants of some lines of one project, the best first.

    The heap holds the first want of each user and line. `ask` finds a want's `Ask`, or None if it is to be passed over in this
    round;
    `is_open` says whether a line may still get anything, and `weight` what a user had and has. Both are asked when a want
    comes to the top: in a round lines only close and weights only grow, so what is stale is found there.
    """

    def __init__(
        self,
        lines: Iterable[WorkClass],
        *,
        ask: Callable[[str, WorkClass], Ask | None],
        is_open: Callable[[WorkClass], bool],
        weight: Callable[[str], float],
    ) -> None:
        self._ask, self._is_open, self._weight = ask, is_open, weight
        self._line: dict[str, WorkClass] = {}
        self._heap: list[Entry] = []
        for line in filter(is_open, lines):
            for user in line.users:
                if entry := self._next(line, user, 0):
                    self._heap.append(entry)
        heapify(self._heap)

    def first(self) -> Ask | None:
        """Whose turn it is."""
        while self._heap:
            *_, weight, _, job, user, index = self._heap[0]
            line = self._line[job]
            if not self._is_open(line):
                heappop(self._heap)
                continue
            ask = self._ask(job, line)
            now = self._weight(user)
            if ask is not None and now == weight:
                return ask
            entry = self._next(line, user, index)
            if entry:
                heapreplace(self._heap, entry)
            else:
                heappop(self._heap)
        return None

    def _next(self, line: WorkClass, user: str, index: int) -> Entry | None:
        """The first of the user's wants in a line, from there on, that may be served."""
        places = line.users[user]
        for number in range(index, len(places)):
            job = places[number][-1]
            if self._ask(job, line) is not None:
                self._line[job] = line
                return _entry(places[number], self._weight(user), user, number)
        return None


def _entry(place: Place, weight: float, user: str, index: int) -> Entry:
    job_class, priority, order, job = place
    return job_class, priority, weight, order, job, user, index
