"""The order inside a project: priority, then what the user already has, then the journal. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from msgspec import Struct

from quota.claims import Want
from quota.shares import Demand, amounts


class Ask(Struct, eq=False, gc=False):
    """A want in the course of one round: how many of its tasks still wait, and for how many room is kept."""

    want: Want
    demand: Demand
    left: int
    kept: int = 0

    @classmethod
    def of(cls, want: Want) -> Ask:
        """At the beginning of a round."""
        return cls(want, amounts(want.demand), want.count)


def place(want: Want) -> tuple[int, int, str]:
    """Where a want stands among those of the same user and project."""
    return (want.priority, want.order, want.job)


class Line:
    """Wants of one project, users in turn. A user's wants are added in the order of `place`.

    The heap holds the first want of each user. `weight` is what a user has (its dominant part of the pool); it changes
    only when one of the user's own wants is placed, so an entry of the heap is never stale.
    """

    def __init__(self, weight: Callable[[str], float]) -> None:
        self._weight = weight
        self._users: dict[str, deque[Ask]] = {}
        self._heap: list[tuple[int, float, int, str, str]] = []

    def add(self, ask: Ask) -> None:
        """Put a want behind all others of its user."""
        user = ask.want.user
        queue = self._users.setdefault(user, deque())
        queue.append(ask)
        if len(queue) == 1:
            self._enter(user)

    def first(self) -> Ask | None:
        """Whose turn it is."""
        return self._users[self._heap[0][-1]][0] if self._heap else None

    def skip(self) -> None:
        """Remove the first want."""
        user = heappop(self._heap)[-1]
        self._users[user].popleft()
        if self._users[user]:
            self._enter(user)

    def weigh(self) -> None:
        """One task of the first want was placed: find its user's new turn, and drop the want when no task waits."""
        user = heappop(self._heap)[-1]
        if not self._users[user][0].left:
            self._users[user].popleft()
        if self._users[user]:
            self._enter(user)

    def _enter(self, user: str) -> None:
        want = self._users[user][0].want
        heappush(self._heap, (want.priority, self._weight(user), want.order, want.job, user))
