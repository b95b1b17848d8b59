"""What is taken back, and from whom. Pure.

Victims are taken in the order of what their stop costs (`Victims._price`) until enough is gained. A project gives to
others only while it is over its share of a kind that is still missing, so it falls below its share by less than one of
its own jobs. Then whoever turns out not to be needed is spared, the costliest first: what is left is needed, each of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain

from msgspec import Struct

from ..demand import Holding, Knobs, Want
from ..resources import Resources, fits, minus, total
from ..shares import Shares, amounts
from .availability import Availability
from .index import Name, Rank, WantIndex, rank
from .partitions import Partition

Beyond = Callable[[Holding, Resources], Resources]
Price = tuple[int, bool, bool, float, datetime, int, str, int]

STEP_S = 30.0
"""Losses of work of a unit that differ by less are as good as equal."""

OVERRUN = timedelta(seconds=30)
"""An end that was due so long ago is not to be counted on: the attempt has not begun to run, or nobody can tell it to end."""

SPARED = 3
"""Who was stopped for others so often is not stopped for an overdue gang."""

WORTH, CALM = 0.03, 10
"""For each second that a gang is overdue, so much of a second's work of each of its units may be lost for it, where each
stop counts as that many restarts besides: a gang of 16 is worth ten stops of a unit after four to seven hours."""

URGENT = 0
STOPS_MAX = 5
"""Who was stopped for others so often is stopped again only if nobody else can give, and never by its own project."""


class Taken(Struct, frozen=True):
    """Who is stopped, what its project borrowed before, what it loses in seconds, and how many could have given."""

    hold: Holding
    over: Resources
    lost_s: float
    among: int


class Victims:
    """All attempts that may be stopped: those that are not stopping yet. `settled` were stopped or moved in this round.

    What is kept for the next try of one that failed counts as if that still ran, and as work of which nothing is lost.
    """

    def __init__(
        self, board: WantIndex, room: Availability, shares: Shares, settled: set[Name], now: datetime, knobs: Knobs
    ) -> None:
        self._board, self._room, self._shares, self._now, self._knobs = board, room, shares, now, knobs
        self._worst: dict[str, Rank] = {}
        self._settled = settled
        self._ending: list[Holding] | None = None

    def lower(self, project: str, best: Rank) -> bool:
        """True if the project runs something less important than this."""
        kept = (rank(hold) for _, hold in self._room.kept_of(project))
        if max((*self._board.ranks.get(project, ()), *kept), default=best) <= best:
            return False
        if project not in self._worst:
            self._worst[project] = max(map(rank, self._yielding(project)), default=(URGENT, 0))
        return self._worst[project] > best

    def for_want(
        self, want: Want, side: Partition, lack: Resources, *, promised: bool, kept: bool = False
    ) -> list[Taken]:
        """Whom to stop so that the want finds what it lacks on this side; nobody if it would not be enough.

        `kept`: it is to find it in what is kept for next tries. Borrowers give to a want that is `promised` to its project,
        and those of a worse class to an urgent one; then less important attempts of its own project do. For what is only one
        task of a share that promises less, nobody loses theirs.
        """
        lent = [
            hold
            for project in self._projects()
            if project != want.project
            for hold in self._going(project, side)
            if promised or (want.job_class == URGENT and hold.job_class > want.job_class)
        ]
        own = [hold for hold in self._yielding(want.project, side) if rank(hold) > rank(want)]
        if kept:
            lent, own = ([hold for hold in rows if hold.retry is not None] for rows in (lent, own))
        within = self._shares.within(want.project, self._room.use_of(want.project), amounts(want.demand))

        def beyond(hold: Holding, uses: Resources) -> Resources:
            outranked = want.job_class == URGENT and hold.job_class > want.job_class
            return (self._borrowed if within or outranked else self._lent)(hold, uses)

        chosen = self._gather(lack, want.max_tier, lent, own, beyond)
        return self._stop(chosen, len(lent) + len(own)) if _enough(chosen, lack) else []

    def for_overdue(self, want: Want, side: Partition, lack: Resources, since: datetime) -> list[Taken]:
        """Whom to stop for a gang that is overdue since then; nobody if it would not be enough, or not yet be worth it.

        Borrowers give, and those of its own project that overtook it; but nobody of a better class, nobody who was
        stopped often, and of gangs that were overdue themselves only smaller ones. It is worth as much as the gang grew
        older meanwhile: so it first gets what becomes free by itself, and more of the others' work the longer it waits.
        """
        size, calm = _units(want.demand, lack), CALM * self._knobs.restart_cost_s
        worth = WORTH * size * (self._now - since).total_seconds()
        if worth < calm or not self._may_give(want.project, lack):
            return []
        rows = [
            hold
            for project in self._projects()
            for hold in self._yielding(project, side)
            if hold.job_class >= want.job_class
            and hold.stops < SPARED
            and not (hold.overdue and _units(hold.demand, lack) >= size)
        ]
        lent = [hold for hold in rows if hold.project != want.project]
        own = [hold for hold in rows if hold.project == want.project and _overtook(hold, want)]
        chosen = self._gather(lack, want.max_tier, lent, own, self._lent)
        cost = sum(self._cost(hold, lack) + calm for hold in chosen)
        return self._stop(chosen, len(lent) + len(own)) if cost <= worth and _enough(chosen, lack) else []

    def end_in_time(self, side: Partition, lack: Resources, max_tier: int | None, by: datetime) -> bool:
        """True if time limits that are known, and have not passed long ago, free all that is lacking on the side by then."""
        if self._ending is None:
            self._ending = [hold for project in self._board.of for hold in self._going(project) if hold.until]
        ends = [
            hold.demand
            for hold in self._ending
            if hold.until and self._now - OVERRUN < hold.until <= by and (max_tier is None or hold.tier <= max_tier)
            if side.covers(hold.tier) and (hold.job, hold.task) not in self._settled
        ]
        return fits(lack, total(ends))

    def _may_give(self, project: str, lack: Resources) -> bool:
        """False if others borrow too little for it, and its own project holds too little: known without a search."""
        borrowed = total(
            self._shares.lent(other, self._room.stays(other)) for other in self._projects() if other != project
        )
        # Who borrows may hold it in one piece that is larger; so a project gives up to all that it holds, if it borrows.
        return all(
            borrowed.get(kind, 0) or self._room.stays(project).get(kind, 0) >= amount for kind, amount in lack.items()
        )

    def for_shrunk_pool(self) -> list[Taken]:
        """Whom to stop because more is held than there is: borrowers only, as far as that goes."""
        taken = []
        for side in self._room.sides:
            if lack := side.lack(tuple((kind, 0) for kind in side.free), None):
                rows = [hold for project in self._board.of for hold in self._going(project, side)]
                taken += self._stop(self._gather(lack, None, rows, [], self._borrowed), len(rows))
        return taken

    def _price(self, hold: Holding, lack: Resources) -> Price:
        """What each unit costs that its stop gains, the cheapest first.

        A worse class goes first; who was stopped often, and who was overdue, last; then goes by the work that is lost
        for each unit, in steps. Of those that lose the same goes who ran longest: that is likely to run for long still.
        """
        step = self._cost(hold, lack, self._knobs.restart_cost_s) / _units(hold.demand, lack) // STEP_S
        spared = hold.stops >= STOPS_MAX, hold.overdue
        return (-hold.job_class, *spared, step, hold.since, hold.order, hold.job, hold.task)

    def _cost(self, hold: Holding, lack: Resources, more: float = 0.0) -> float:
        """The work that its stop loses, in seconds of a unit, weighted by past stops."""
        return (hold.unsaved_s(self._now) * _units(hold.demand, lack) + more) * (1 + hold.stops)

    def _projects(self) -> dict[str, None]:
        """Those that hold anything, or for which something is kept."""
        return dict.fromkeys(self._board.of) | {hold.project: None for hold in self._room.kept.values()}

    def _going(self, project: str, side: Partition | None = None) -> Iterator[Holding]:
        """What it holds and keeps, on one side or on all."""
        for name, hold in chain(self._board.of.get(project, {}).items(), self._room.kept_of(project)):
            if not hold.stopping and name not in self._settled and (side is None or side.covers(hold.tier)):
                yield hold

    def _yielding(self, project: str, side: Partition | None = None) -> Iterator[Holding]:
        """What a project gives to more important wants of its own."""
        return (hold for hold in self._going(project, side) if hold.stops < STOPS_MAX)

    def _gather(
        self, lack: Resources, max_tier: int | None, lent: list[Holding], own: list[Holding], beyond: Beyond
    ) -> list[Holding]:
        """Take the cheapest until nothing is lacking or nobody is left, then spare who is not needed.

        `beyond` says what of a project's use may be taken.
        First of what is borrowed as a whole, then of what is so in part, then of the want's own project. In each of the
        three one pass is enough: who borrows nothing that is lacking never will in the course of it.
        """
        left: dict[str, Resources] = {}
        missing = dict(lack)
        chosen: dict[Name, Holding] = {}
        borrowers, others = (sorted(rows, key=lambda hold: self._price(hold, lack)) for rows in (lent, own))
        for rows, whole in ((borrowers, True), (borrowers, False), (others, None)):
            for hold in rows:
                kinds = [kind for kind, amount in hold.demand.items() if amount and kind in missing]
                if not kinds or (hold.job, hold.task) in chosen or (max_tier is not None and hold.tier > max_tier):
                    continue
                uses = left.get(hold.project, self._room.stays(hold.project))
                if whole is not None:
                    over = beyond(hold, uses)
                    part = [over.get(kind, 0) >= (hold.demand[kind] if whole else 1) for kind in kinds]
                    if not (all(part) if whole else any(part)):
                        continue
                chosen[hold.job, hold.task] = hold
                left[hold.project] = minus(uses, hold.demand)
                missing = {kind: amount for kind, amount in minus(missing, hold.demand).items() if amount > 0}
                if not missing:
                    return _spared(list(chosen.values()), lack)
        return _spared(list(chosen.values()), lack)

    def _borrowed(self, hold: Holding, uses: Resources) -> Resources:
        return self._shares.borrowed(hold.project, uses)

    def _lent(self, hold: Holding, uses: Resources) -> Resources:
        return self._shares.lent(hold.project, uses)

    def _stop(self, chosen: list[Holding], among: int) -> list[Taken]:
        taken = []
        for hold in chosen:
            over = self._shares.borrowed(hold.project, self._room.stays(hold.project))
            taken.append(Taken(hold, over, hold.unsaved_s(self._now), among))
        for hold in chosen:
            if hold.retry is None:
                self._room.stop(hold)
            else:
                self._room.give_up(hold)
            self._settled.add((hold.job, hold.task))
            self._worst.pop(hold.project, None)
        return taken


def _enough(chosen: list[Holding], lack: Resources) -> bool:
    return fits(lack, total(hold.demand for hold in chosen))


def _units(demand: Resources, lack: Resources) -> int:
    """How much it is of what is lacking."""
    return max((demand.get(kind, 0) for kind in lack), default=0) or 1


def _overtook(hold: Holding, want: Want) -> bool:
    """It came later, was given room meanwhile, and is not more important."""
    return hold.order > want.order and hold.since > want.since and rank(hold) >= rank(want)


def _spared(chosen: list[Holding], lack: Resources) -> list[Holding]:
    gained = total(hold.demand for hold in chosen)
    kept = []
    for hold in reversed(chosen):
        without = minus(gained, hold.demand)
        if fits(lack, without):
            gained = without
        else:
            kept.append(hold)
    return kept[::-1]
