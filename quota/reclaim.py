"""What is taken back, and from whom. Pure.

Victims are found one by one until enough is gained: the project that borrows the largest part of the pool gives
next; of its attempts the least important one (largest priority number), then the youngest. A project gives only
while it is over its share of a kind that is still missing, so it falls below its share by less than one of its own
jobs. Then whoever turns out not to be needed is spared, the last found first: what is left is needed, each of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from quota.claims import Hold, Want
from quota.resources import Resources, fits, minus, total
from quota.room import Room
from quota.shares import Shares

Pick = Callable[[set[str]], Hold | None]
Name = tuple[str, int]  # a task: job, number
Taken = list[tuple[Hold, Resources]]  # who is stopped, and what its project borrowed before


class Victims:
    """All attempts that may be stopped: those that are not stopping yet."""

    def __init__(self, holds: Iterable[Hold], room: Room, shares: Shares) -> None:
        self._room, self._shares = room, shares
        self._all = sorted((hold for hold in holds if not hold.stopping), key=age, reverse=True)
        self._of: dict[str, list[Hold]] = {}
        self._stopped: set[Name] = set()
        for hold in sorted(self._all, key=lambda hold: -hold.priority):
            self._of.setdefault(hold.project, []).append(hold)

    def lower(self, want: Want) -> bool:
        """True if the want's own project runs something less important than it."""
        own = (hold for hold in self._of.get(want.project, ()) if _name(hold) not in self._stopped)
        return next((hold.priority > want.priority for hold in own), False)

    def for_want(self, want: Want, lack: Resources, *, within: bool) -> Taken:
        """Whom to stop so that the want finds what it lacks; nobody if it would not be enough.

        Borrowers give only to a want `within` its project's share; then less important attempts of its own project do.
        """
        search = self._search()

        def pick(kinds: set[str]) -> Hold | None:
            return (search.borrower(kinds, want.project) if within else None) or search.lower(kinds, want)

        chosen = search.gather(lack, pick)
        return self._stop(chosen) if fits(lack, total(hold.demand for hold in chosen)) else []

    def for_shrunk_pool(self) -> Taken:
        """Whom to stop because more is held than there is: borrowers only, the youngest first, as far as that goes."""
        owed = {kind: -free - self._room.freeing[kind] for kind, free in self._room.free.items()}
        search = self._search()
        rest = iter(self._all)  # one pass is enough: who borrows nothing that is lacking now never will in this search

        def pick(kinds: set[str]) -> Hold | None:
            return next((hold for hold in rest if search.borrows(hold, kinds)), None)

        return self._stop(search.gather({kind: n for kind, n in owed.items() if n > 0}, pick))

    def _search(self) -> _Search:
        return _Search(self._of, self._stopped, self._room.staying, self._shares)

    def _stop(self, chosen: list[Hold]) -> Taken:
        taken = [(hold, self._shares.borrowed(hold.project, self._room.staying[hold.project])) for hold in chosen]
        for hold in chosen:
            self._room.stop(hold)
            self._stopped.add(_name(hold))
        return taken


class _Search:
    """One search for victims: what would be left to each project if all chosen ones stop."""

    def __init__(
        self, of: Mapping[str, Sequence[Hold]], stopped: set[Name], staying: Mapping[str, Resources], shares: Shares
    ) -> None:
        self._of, self._shares = of, shares
        self._taken = set(stopped)
        self._used = {project: staying[project] for project in of}

    def gather(self, lack: Resources, pick: Pick) -> list[Hold]:
        """Pick until nothing is lacking or nobody is left, then spare who is not needed."""
        chosen: list[Hold] = []
        missing = dict(lack)
        while kinds := {kind for kind, amount in missing.items() if amount > 0}:
            hold = pick(kinds)
            if hold is None:
                break
            chosen.append(hold)
            self._taken.add(_name(hold))
            self._used[hold.project] = minus(self._used[hold.project], hold.demand)
            missing = minus(missing, hold.demand)
        return _spared(chosen, lack)

    def borrower(self, kinds: set[str], but: str) -> Hold | None:
        """The first victim of the project that borrows most of the kinds that are lacking."""
        found: tuple[float, str] | None = None
        victim = None
        for project in self._of:
            over = self._over(project, kinds)
            rank = (-self._shares.dominant(over), project)
            if over and project != but and (found is None or rank < found):
                first = next(self._giving(project, over), None)
                found, victim = (rank, first) if first else (found, victim)
        return victim

    def borrows(self, hold: Hold, kinds: set[str]) -> bool:
        """True if the attempt holds a lacking kind of which its project is over its share."""
        return any(hold.demand.get(kind) for kind in self._over(hold.project, kinds))

    def lower(self, kinds: set[str], want: Want) -> Hold | None:
        """The first victim among less important attempts of the want's own project."""
        return next((hold for hold in self._giving(want.project, kinds) if hold.priority > want.priority), None)

    def _over(self, project: str, kinds: set[str]) -> Resources:
        borrowed = self._shares.borrowed(project, self._used[project])
        return {kind: amount for kind, amount in borrowed.items() if kind in kinds}

    def _giving(self, project: str, kinds: Iterable[str]) -> Iterator[Hold]:
        for hold in self._of.get(project, ()):
            if _name(hold) not in self._taken and any(hold.demand.get(kind) for kind in kinds):
                yield hold


def _name(hold: Hold) -> Name:
    return hold.job, hold.task


def age(hold: Hold) -> tuple[datetime, int, str, int]:
    """The order of holds, oldest first, the same in whatever order they come."""
    return hold.since, hold.order, hold.job, hold.task


def _spared(chosen: list[Hold], lack: Resources) -> list[Hold]:
    gained = total(hold.demand for hold in chosen)
    kept = []
    for hold in reversed(chosen):
        without = minus(gained, hold.demand)
        if fits(lack, without):
            gained = without
        else:
            kept.append(hold)
    return kept[::-1]
