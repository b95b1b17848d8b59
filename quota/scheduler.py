"""Whose turn it is: the policies by name, and the default one. Pure.

The default policy leaves alone what runs, and gives away what is free in three goes, each time to the project that
would be the least far along its share (`Shares.turn`):

1. what is promised: wants that keep their project within its share;
2. what is lent without touching what is promised to others who wait, in each project's own order, so that a gang
   larger than the share neither loses its place to its juniors while there is room, nor blocks them when there is none;
3. whatever is left.

A want within its share that does not fit and has waited `reclaim_delay_s` has borrowers stopped for it, and a more
important want less important attempts of its own project. That is one decision with its turn: it happens only if
the want then fits, and what is free or being freed is kept for it, in this round and in the next ones (`reclaims`),
until it has started. Before all that a pool that shrank takes back from its borrowers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from quota import axlearn, reasons
from quota.claims import Hold, Knobs, Policy, Schedule, Start, Stop, Want
from quota.line import Ask, Line, place
from quota.model import Quota
from quota.owed import Owed
from quota.reasons import Reasons
from quota.reclaim import Victims, age
from quota.resources import Resources, total
from quota.room import Room
from quota.shares import Demand, Shares

PROMISED, LENT, LEFT = range(3)  # the three goes

Turn = tuple[int, bool, float, int, str]  # go, where the project stands, the want's order, project


def schedule(
    *,
    wants: Iterable[Want],
    holds: Iterable[Hold],
    reclaims: tuple[str, ...],
    quota: Quota,
    pool: tuple[Resources, ...],
    now: datetime,
    knobs: Knobs,
) -> Schedule:
    """The default policy. See `Policy` for the arguments."""
    state = _Round(wants, sorted(holds, key=age), Shares(quota, total(pool)), pool, now, knobs)
    state.take_back_what_shrank()
    state.serve_first_in_line(reclaims)
    state.serve_the_rest()
    return state.answer()


class _Round:
    """One round of the default policy."""

    def __init__(
        self,
        wants: Iterable[Want],
        holds: list[Hold],
        shares: Shares,
        pool: tuple[Resources, ...],
        now: datetime,
        knobs: Knobs,
    ) -> None:
        self._shares, self._now = shares, now
        self._delay = timedelta(seconds=knobs.reclaim_delay_s)
        self._asks = [Ask.of(want) for want in sorted(wants, key=place)]
        self._room = Room(pool, holds)
        self._victims = Victims(holds, self._room, shares)
        self._reasons = Reasons(holds, self._room, shares, knobs.reclaim_delay_s)
        self._owed = Owed(shares, self._room.used)
        projects = sorted({ask.want.project for ask in self._asks})
        self._own = {project: self._line(project) for project in projects}
        self._rest = {project: self._line(project) for project in projects}
        self._waiting: dict[str, list[Ask]] = {project: [] for project in projects}
        self._hopeless: dict[tuple[str, int, bool], list[Demand]] = defaultdict(list)
        self._never: dict[str, str] = {}
        self._starts: list[Start] = []
        self._stops: list[Stop] = []

    def take_back_what_shrank(self) -> None:
        """Stop borrowers if more is held than there is."""
        for hold, over in self._victims.for_shrunk_pool():
            self._stop(hold, None, reasons.shrunk(hold, over, self._shares.units(hold.project)))

    def serve_first_in_line(self, reclaims: Iterable[str]) -> None:
        """Start, or keep room for, the wants for which others were stopped before: one task, and more within the share.

        If one does not fit even when all that stops is gone, it is first in line no more.
        """
        asks = {ask.want.job: ask for ask in self._asks}
        for ask in (asks[job] for job in reclaims if job in asks):
            first = True
            while ask.left and (first or self._within(ask)) and not self._room.lack(ask.demand):
                self._give(ask)
                first = False

    def serve_the_rest(self) -> None:
        """All other wants, the project that is the least far along its share first."""
        self._enter()
        turns = [turn for project in self._own if (turn := self._turn(project))]
        heapify(turns)
        while turns:
            go, *_, project = heappop(turns)
            self._serve(project, go)
            if turn := self._turn(project):
                heappush(turns, turn)

    def answer(self) -> Schedule:
        """All that was decided."""
        kept = self._reasons.kept = [ask for ask in self._asks if ask.kept]
        first = {ask.want.job: self._reasons.kept_for(ask) for ask in kept}
        texts = self._never | first
        for asks in self._waiting.values():
            texts.update(self._reasons.of_project(asks))
        texts |= first
        return Schedule(
            starts=tuple(self._starts), stops=tuple(self._stops), reasons=MappingProxyType(texts), again=self._again()
        )

    def _line(self, project: str) -> Line:
        users = self._room.users
        return Line(lambda user: self._shares.dominant(users[project, user]) if (project, user) in users else 0.0)

    def _enter(self) -> None:
        for ask in self._asks:
            project = ask.want.project
            if never := reasons.impossible(ask.demand, self._shares.pool):
                self._never[ask.want.job] = never
            elif ask.left:
                self._own[project].add(ask)
                self._owed.wait(project, ask.demand, ask.left)
        for project in self._own:
            self._owed.settle(project)

    def _turn(self, project: str) -> Turn | None:
        """The project's next want that may get something; those that cannot are put aside on the way."""
        for line in (self._own[project], self._rest[project]):
            while ask := line.first():
                if self._room.fits(ask.demand) or self._may_reclaim(ask):
                    break
                self._waiting[project].append(ask)
                line.skip()
            if ask:
                go = LEFT if line is self._rest[project] else PROMISED if self._within(ask) else LENT
                return (go, *self._shares.turn(project, self._room.used[project], ask.demand), ask.want.order, project)
        return None

    def _serve(self, project: str, go: int) -> None:
        """Give the project's next want what it asks for, put it off to the last go, or let it wait."""
        line = self._rest[project] if go == LEFT else self._own[project]
        ask = line.first()
        assert ask is not None, project
        fits = self._room.fits(ask.demand)
        if fits and go == LENT and not self._owed.spares(project, ask.demand, self._room.free):
            self._rest[project].add(ask)
            line.skip()
        elif fits or (self._may_reclaim(ask) and self._reclaim(ask)):
            self._give(ask)
            self._owed.wait(project, ask.demand, -1)
            self._owed.settle(project)
            line.weigh()
        else:
            self._waiting[project].append(ask)
            line.skip()

    def _give(self, ask: Ask) -> None:
        """Start a task if it fits now; else keep room for it."""
        want = ask.want
        ask.left -= 1
        if self._room.fits(ask.demand):
            self._starts.append(Start(want.job, self._room.start(want.project, want.user, ask.demand)))
        else:
            ask.kept += 1
            self._room.keep(want.project, want.user, ask.demand)

    def _within(self, ask: Ask) -> bool:
        return self._shares.within(ask.want.project, self._room.used[ask.want.project], ask.demand)

    def _may_reclaim(self, ask: Ask) -> bool:
        """True if it has waited long enough, has a right to somebody's room, and nobody asked in vain for less."""
        want = ask.want
        if self._now - want.since < self._delay:
            return False
        within = self._within(ask)
        if not within and not self._victims.lower(want):
            return False
        failed = self._hopeless[want.project, want.priority, within]
        return not any(all(want.demand.get(kind, 0) >= amount for kind, amount in less) for less in failed)

    def _reclaim(self, ask: Ask) -> bool:
        """Stop others so that the want fits once they are gone. False if that cannot be, and nobody is stopped."""
        within, lack = self._within(ask), self._room.lack(ask.demand)
        victims = self._victims.for_want(ask.want, lack, within=within)
        for hold, over in victims:
            units = self._shares.units(hold.project)
            self._stop(hold, ask.want.job, reasons.reclaimed(hold, ask.want, over, units))
        if victims or (within and not lack):
            return True
        self._hopeless[ask.want.project, ask.want.priority, within].append(ask.demand)
        return False

    def _stop(self, hold: Hold, for_job: str | None, reason: str) -> None:
        self._stops.append(Stop(hold.job, hold.task, for_job, reason))
        self._reasons.stopping.append(hold)

    def _again(self) -> datetime | None:
        """When the next want has waited long enough to reclaim."""
        since = [ask.want.since for asks in self._waiting.values() for ask in asks]
        return min((moment + self._delay for moment in since if self._now - moment < self._delay), default=None)


POLICIES: Mapping[str, Policy] = MappingProxyType({"default": schedule, "axlearn": axlearn.schedule})
