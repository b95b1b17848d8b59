"""The choice of victims: the attempts that are stopped so that others get their room. Pure.

Victims are chosen in the order of what their stop costs (`Victims._price`), cheapest first, until enough is gained. A
project gives to others only while it is over its share of a kind that is still missing, so it falls below its share by
less than one of its own jobs. Then victims that turn out not to be needed are spared, the costliest first. Every victim
that is left is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import chain
from math import inf

from msgspec import Struct

from ..demand import OVERTAKEN, Holding, PolicySettings, Want
from ..resources import Resources, fits, minus, total
from ..shares import Shares, amounts
from .availability import Availability
from .index import Name, Rank, WantIndex, rank
from .partitions import Partition

Beyond = Callable[[Holding, Resources], Resources]
Price = tuple[int, bool, bool, float, datetime, int, str, int]

STEP_S = 30.0
"""Two losses of a unit's work count as equal if they lie in the same step of this many seconds."""

OVERRUN = timedelta(seconds=30)
"""An end that is overdue by this much is not counted on: the attempt has not begun to run, or cannot be reached."""

SPARED = 3
"""An attempt whose task was stopped for others this often is not stopped for an overdue gang."""

WORTH, CALM = 0.03, 10
"""The price that may be paid for an overdue gang. For each second that it is overdue and for each of its units, `WORTH`
seconds of a unit's work may be lost. Each stop costs `CALM` restarts besides the work that it loses. With the default
restart cost, a gang of 16 units is worth ten stops after seven hours at the earliest."""

SOON_S = 600.0
"""An attempt is not expected to end sooner than this many seconds from now."""

USEFUL = 1 / 40
"""A stop frees units beyond those that are lacking. Up to this part of the capacity they count as gained, because other
jobs that wait soon take them."""

URGENT = 0
STOPS_MAX = 5
"""A task that was stopped for others this often is the last of its class to be stopped again. For its own project it is
never stopped again."""


class StoppedAttempt(Struct, frozen=True):
    """One attempt that is stopped.

    hold: what the attempt holds.
    over: the units by kind that its project borrowed before the stop.
    lost_s: seconds of its work that no checkpoint holds.
    among: the number of attempts that could have been stopped instead, with itself.
    """

    hold: Holding
    over: Resources
    lost_s: float
    among: int


class Victims:
    """All attempts that may be stopped: those that are not stopping yet. `settled` were stopped or moved in this round.

    What is kept for the next try of a failed attempt counts as if the attempt still ran, but its stop loses no work.
    """

    def __init__(
        self,
        index: WantIndex,
        room: Availability,
        shares: Shares,
        settled: set[Name],
        now: datetime,
        settings: PolicySettings,
    ) -> None:
        self._index, self._room, self._shares, self._now, self._settings = index, room, shares, now, settings
        self._worst: dict[str, Rank] = {}
        self._settled = settled
        self._ending: list[Holding] | None = None

    def lower(self, project: str, best: Rank) -> bool:
        """Return True if the project has an attempt that may be stopped and is less important than this."""
        kept = (rank(hold) for _, hold in self._room.kept_of(project))
        if max((*self._index.ranks.get(project, ()), *kept), default=best) <= best:
            return False
        if project not in self._worst:
            self._worst[project] = max(map(rank, self._yielding(project)), default=(URGENT, 0))
        return self._worst[project] > best

    def for_want(
        self, want: Want, partition: Partition, lack: Resources, *, promised: bool, kept: bool = False
    ) -> list[StoppedAttempt]:
        """Choose and stop victims so that the want finds what it lacks on this partition. Return them.

        If they would not be enough, nothing is stopped and the list is empty. Borrowers give to a want that is
        `promised` to its project, and borrowers of a worse class give to an urgent want. After them, less important
        attempts of the want's own project give. With `kept`, only room that is kept for next tries is taken. If the
        want is only the one task of a share that promises less, no project loses its own such task for it, except for
        an urgent want.
        """
        lent = [
            hold
            for project in self._projects()
            if project != want.project
            for hold in self._going(project, partition)
            if promised or (want.job_class == URGENT and hold.job_class > want.job_class)
        ]
        own = [hold for hold in self._yielding(want.project, partition) if rank(hold) > rank(want)]
        if kept:
            lent, own = ([hold for hold in rows if hold.retry is not None] for rows in (lent, own))
        within = self._shares.within(want.project, self._room.use_of(want.project), amounts(want.demand))

        def beyond(hold: Holding, uses: Resources) -> Resources:
            outranked = want.job_class == URGENT and hold.job_class > want.job_class
            return (self._borrowed if within or outranked else self._lent)(hold, uses)

        chosen = self._gather(lack, want.max_tier, lent, own, beyond)
        return self._stop(chosen, len(lent) + len(own)) if _enough(chosen, lack) else []

    def for_overdue(self, want: Want, partition: Partition, lack: Resources, since: datetime) -> list[StoppedAttempt]:
        """Choose and stop victims for a gang that is overdue since `since`. Return them.

        If they would not be enough or cost too much, nothing is stopped and the list is empty. Borrowers give, and so
        do attempts of the gang's own project that overtook it. Attempts of a better class do not give, nor do tasks
        that were stopped often; gangs that were overdue themselves give only to a larger gang. The price that may be
        paid grows with the time that the gang is overdue. So the gang first gets what becomes free by itself, and more
        of the others' work the longer it waits.
        """
        size, calm = _units(want.demand, lack), CALM * self._settings.restart_cost_s
        worth = WORTH * size * (self._now - since).total_seconds()
        if worth < calm or not self._may_give(want.project, lack):
            return []
        rows = [
            hold
            for project in self._projects()
            for hold in self._yielding(project, partition)
            if _gives_by_right(hold, want, lack)
        ]
        lent = [hold for hold in rows if hold.project != want.project]
        own = [hold for hold in rows if hold.project == want.project and _overtook(hold, want)]
        if self._settings.rules >= OVERTAKEN and self._shares.within(want.project, {}, amounts(want.demand)):
            own = []  # it may have a reservation instead
        chosen = self._gather(lack, want.max_tier, lent, own, self._lent)
        cost = sum(self._cost(hold, lack) + calm for hold in chosen)
        return self._stop(chosen, len(lent) + len(own)) if cost <= worth and _enough(chosen, lack) else []

    def for_reservation(
        self, want: Want, partition: Partition, lack: Resources, *, others: bool
    ) -> list[StoppedAttempt]:
        """Choose and stop jobs of the want's own project that overtook it. Return them.

        With `others`, all jobs of other users count that started since the want waits. If the stops would not be
        enough, or would cost more than to wait, nothing is stopped and the list is empty. To wait costs what is free
        and kept meanwhile: what is there now and half of what is missing, for as long as the project needs to free what
        is missing. It is taken that what ran for so long runs for as long again, unless a time limit ends it sooner.
        """
        own = [
            hold
            for hold in self._yielding(want.project, partition)
            if _gives_by_right(hold, want, lack)
            and (_overtook(hold, want) or (others and hold.user != want.user and _overtook(hold, want, by_start=True)))
        ]
        chosen = self._gather(lack, want.max_tier, [], own, self._lent)
        kind, missing = max(lack.items(), key=lambda row: (row[1], row[0]))
        rate = sum(
            hold.demand.get(kind, 0) / max(SOON_S, self._left_s(hold)) for hold in self._going(want.project, partition)
        )
        cost = sum(self._cost(hold, lack, 2 * self._settings.restart_cost_s) for hold in chosen)
        idle = (want.demand[kind] - missing / 2) * missing / rate if rate else cost
        return self._stop(chosen, len(own)) if _enough(chosen, lack) and cost <= idle else []

    def _left_s(self, hold: Holding) -> float:
        """Return for how many seconds an attempt may be expected to go on: for as long as it ran, up to its limit."""
        ran = (self._now - hold.since).total_seconds()
        return min(ran, (hold.until - self._now).total_seconds()) if hold.until else ran

    def end_in_time(self, partition: Partition, lack: Resources, max_tier: int | None, by: datetime) -> bool:
        """Return True if known time limits free all that is lacking on the partition by `by`.

        Limits that passed long ago (`OVERRUN`) do not count.
        """
        if self._ending is None:
            self._ending = [hold for project in self._index.of for hold in self._going(project) if hold.until]
        ends = [
            hold.demand
            for hold in self._ending
            if hold.until and self._now - OVERRUN < hold.until <= by and (max_tier is None or hold.tier <= max_tier)
            if partition.covers(hold.tier) and (hold.job, hold.task) not in self._settled
        ]
        return fits(lack, total(ends))

    def _may_give(self, project: str, lack: Resources) -> bool:
        """Return False if no search can help: others borrow none of a missing kind and the project has too little."""
        borrowed = total(
            self._shares.lent(other, self._room.stays(other)) for other in self._projects() if other != project
        )
        # A borrower may hold more than it borrows in one attempt. So any amount that is borrowed may be enough.
        return all(
            borrowed.get(kind, 0) or self._room.stays(project).get(kind, 0) >= amount for kind, amount in lack.items()
        )

    def for_shrunk_capacity(self) -> list[StoppedAttempt]:
        """Choose and stop victims because more is held than there is: only borrowers, so it may not be enough."""
        taken = []
        for partition in self._room.partitions:
            if lack := partition.lack(tuple((kind, 0) for kind in partition.free), None):
                rows = [hold for project in self._index.of for hold in self._going(project, partition)]
                taken += self._stop(self._gather(lack, None, rows, [], self._borrowed), len(rows))
        return taken

    def _price(self, hold: Holding, lack: Resources, useful: float) -> Price:
        """Return the sort key of a victim: what each unit costs that its stop gains, the cheapest first.

        Attempts of a worse class come first. Inside a class, tasks that were stopped often and gangs that were overdue
        come last. Then the work counts that is lost for each unit, in steps of `STEP_S`. Of equal losses the attempt
        that ran longest comes first, because it is likely to go on for long.
        """
        step = self._cost(hold, lack, self._settings.restart_cost_s) / min(_units(hold.demand, lack), useful) // STEP_S
        spared = hold.stops >= STOPS_MAX, hold.overdue
        return (-hold.job_class, *spared, step, hold.since, hold.order, hold.job, hold.task)

    def _useful(self, lack: Resources) -> float:
        """Return how many units a stop is good for at most: what is lacking, or `USEFUL` of the capacity if that is more.

        So a small job does not stop a very large one, whose work is lost for units that nobody asked for. By the rules
        before `OVERTAKEN` all units count.
        """
        if self._settings.rules < OVERTAKEN:
            return inf
        return max(max(amount, USEFUL * self._shares.capacity.get(kind, 0)) for kind, amount in lack.items())

    def _cost(self, hold: Holding, lack: Resources, more: float = 0.0) -> float:
        """Return the work that a stop loses, in seconds of one unit, plus `more`, weighted by past stops."""
        return (hold.unsaved_s(self._now) * _units(hold.demand, lack) + more) * (1 + hold.stops)

    def _projects(self) -> dict[str, None]:
        """Return the projects that hold anything, or for which something is kept, in a fixed order."""
        return dict.fromkeys(self._index.of) | {hold.project: None for hold in self._room.kept.values()}

    def _going(self, project: str, partition: Partition | None = None) -> Iterator[Holding]:
        """Yield what a project holds and what is kept for it, on one partition or on all, without what is stopping."""
        for name, hold in chain(self._index.of.get(project, {}).items(), self._room.kept_of(project)):
            if not hold.stopping and name not in self._settled and (partition is None or partition.covers(hold.tier)):
                yield hold

    def _yielding(self, project: str, partition: Partition | None = None) -> Iterator[Holding]:
        """Yield what a project may give to more important wants of its own."""
        return (hold for hold in self._going(project, partition) if hold.stops < STOPS_MAX)

    def _gather(
        self, lack: Resources, max_tier: int | None, lent: list[Holding], own: list[Holding], beyond: Beyond
    ) -> list[Holding]:
        """Choose the cheapest victims until nothing is lacking or none is left, then spare those that are not needed.

        `beyond` says how much of a project's use may be taken. Attempts that are borrowed as a whole come first, then
        those that are borrowed in part, then those of the want's own project. For each of the three groups one pass is
        enough: a project that borrows nothing that is lacking will not borrow any during the pass.
        """
        left: dict[str, Resources] = {}
        missing = dict(lack)
        chosen: dict[Name, Holding] = {}
        useful = self._useful(lack)
        borrowers, others = (sorted(rows, key=lambda hold: self._price(hold, lack, useful)) for rows in (lent, own))
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

    def _stop(self, chosen: list[Holding], among: int) -> list[StoppedAttempt]:
        taken = []
        for hold in chosen:  # measure all before a stop is entered: it changes what the project borrows
            over = self._shares.borrowed(hold.project, self._room.stays(hold.project))
            taken.append(StoppedAttempt(hold, over, hold.unsaved_s(self._now), among))
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
    """Return the largest amount that a demand has of the kinds that are lacking, at least 1."""
    return max((demand.get(kind, 0) for kind in lack), default=0) or 1


def _gives_by_right(hold: Holding, want: Want, lack: Resources) -> bool:
    """Return True if an attempt may be stopped for a want that earned a right by waiting.

    It is of no better class, was not stopped often, and did not start by such a right itself unless it is smaller.
    """
    if hold.job_class < want.job_class or hold.stops >= SPARED:
        return False
    return not (hold.overdue and _units(hold.demand, lack) >= _units(want.demand, lack))


def _overtook(hold: Holding, want: Want, *, by_start: bool = False) -> bool:
    """Return True if an attempt's job came later, got room while the want waited, and is not more important.

    With `by_start`, it need not have come later.
    """
    return (by_start or hold.order > want.order) and hold.since > want.since and rank(hold) >= rank(want)


def _spared(chosen: list[Holding], lack: Resources) -> list[Holding]:
    gained = total(hold.demand for hold in chosen)
    kept = []
    for hold in reversed(chosen):  # the victims that were chosen last are spared first
        without = minus(gained, hold.demand)
        if fits(lack, without):
            gained = without
        else:
            kept.append(hold)
    return kept[::-1]
