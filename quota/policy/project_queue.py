"""The order inside a project during one round: class, priority, least use of the user, place in the journal. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heapreplace

from msgspec import Struct

from ..demand import Want
from .index import Place, WorkClass
from .partitions import Partition

Entry = tuple[int, int, float, int, str, str, int]  # class, priority, weight, order, job, user, index in its places


class WantProgress(Struct, eq=False, gc=False):
    """The state of one want during one round.

    want: the want.
    work_class: its work class.
    left: how many of its tasks still wait.
    kept: for how many of its tasks room is kept.
    partition: the partition where room was kept last; None: no room is kept.
    """

    want: Want
    work_class: WorkClass
    left: int
    kept: int = 0
    partition: Partition | None = None


class ProjectQueue:
    """The wants of some work classes of one project, best first.

    The heap holds the first want of each user and work class. `ask` returns the `WantProgress` of a want, or None if the want
    is to be passed over in this round. `is_open` says whether a work class may still get anything, and `weight` is the
    past and present use of a user. Both are called when a want comes to the top: in a round work classes only close
    and weights only grow, so a stale entry is found there.
    """

    def __init__(
        self,
        work_classes: Iterable[WorkClass],
        *,
        ask: Callable[[str, WorkClass], WantProgress | None],
        is_open: Callable[[WorkClass], bool],
        weight: Callable[[str], float],
        last: Callable[[WorkClass, str], Place | None],
    ) -> None:
        self._ask, self._is_open, self._weight, self._last = ask, is_open, weight, last
        self._work_class: dict[str, WorkClass] = {}
        self._heap: list[Entry] = []
        for work_class in filter(is_open, work_classes):
            for user in work_class.users:
                if entry := self._next(work_class, user, 0):
                    self._heap.append(entry)
        heapify(self._heap)

    def first(self) -> WantProgress | None:
        """Return the entry whose turn it is; None if no want is left that may be served."""
        while self._heap:
            *_, weight, _, job, user, index = self._heap[0]
            work_class = self._work_class[job]
            if not self._is_open(work_class):
                heappop(self._heap)
                continue
            ask = self._ask(job, work_class)
            now = self._weight(user)
            if ask is not None and now == weight:
                return ask
            entry = self._next(work_class, user, index)
            if entry:
                heapreplace(self._heap, entry)
            else:
                heappop(self._heap)
        return None

    def _next(self, work_class: WorkClass, user: str, index: int) -> Entry | None:
        """Return the user's first want in a work class, from `index` on, that may be served; None if there is none."""
        places = work_class.users[user]
        last = self._last(work_class, user)
        for number in range(index, len(places) if last is None else bisect_right(places, last)):
            job = places[number][-1]
            if self._ask(job, work_class) is not None:
                self._work_class[job] = work_class
                return _entry(places[number], self._weight(user), user, number)
        return None


def _entry(place: Place, weight: float, user: str, index: int) -> Entry:
    job_class, priority, order, job = place
    return job_class, priority, weight, order, job, user, index
