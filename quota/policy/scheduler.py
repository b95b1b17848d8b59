"""Whose turn it is: the policies by name, and the default one. Pure.

The default policy leaves alone what runs, and gives away what is free in three goes, each time to the project that
would be the least far along its share (`Shares.turn`):

1. what is promised: wants that keep their project within its share, or are one task of a share of which nothing is used
   and that rounding made too small for it;
2. what is lent without touching what is promised to others who wait, in each project's own order, so that a gang
   larger than the share neither loses its place to its juniors while there is room, nor blocks them when there is none;
3. whatever is left.

Between the first and the second go gangs that were overtaken too long call in what was lent (`bastion.quota.policy.overtaken`).

A want that is promised, does not fit and has waited `reclaim_delay_s` has borrowers stopped for it, and a more
important want less important attempts of its own project. That is one decision with its turn: it happens only if
the want then fits, and what is free or being freed is kept for it, in this round and in the next ones (`reclaims`),
until it has started. Before all that a pool that shrank takes back from its borrowers.

What a task held whose try failed, and that is tried again soon, is kept for it over the pause, as if it still ran; then
its next try starts before anybody else gets room. Whoever could have it stopped takes that room at once.

Wants of one project that ask for the same are one line, and a line is looked at once: in a round what is free only
becomes less, so what gets nothing once gets nothing later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from ..demand import STANDARD, Knobs, Schedule, Start, Stop
from ..quota import Quota
from ..shares import Demand, Shares
from ..tiers import Capacity
from . import axlearn, reasons
from .availability import Availability
from .index import Name, WantIndex, WorkClass, rank
from .interface import Past, Policy
from .overtaken import AGAIN, OvertakenGangs
from .project_order import LENT, PROMISED, ProjectOrder
from .project_queue import Ask
from .reasons import Reasons
from .reclaim import URGENT, Taken, Victims
from .restrictions import Restrictions
from .shapes import choosing
from .share_promises import SharePromises
from .tier_moves import TierMoves

STOP_TAKES = timedelta(seconds=30)
"""Nobody is stopped for what ends by its time limit within so long: a stop would take as much."""

HOURS = 1.0
"""What a user holds now weighs as much as having held it for so long."""


def schedule(
    *,
    board: WantIndex,
    reclaims: tuple[str, ...],
    quota: Quota,
    pool: Capacity,
    past: Past,
    now: datetime,
    knobs: Knobs,
) -> Schedule:
    """The default policy. See `Policy` for the arguments."""
    state = _Round(board, quota, pool, past, now, knobs)
    state.take_back_what_shrank()
    state.serve_first_in_line(reclaims)
    state.serve_next_tries()
    state.serve_the_rest()
    return state.answer()


class _Round:
    """One round of the default policy."""

    def __init__(self, board: WantIndex, quota: Quota, pool: Capacity, past: Past, now: datetime, knobs: Knobs) -> None:
        self._board, self._quota, self._past, self._now = board, quota, past, now
        self._delay = timedelta(seconds=knobs.reclaim_delay_s)
        self._shares = Shares(quota, pool.total(), knobs.rules)
        self._room = Availability(pool, board)
        self._owed = SharePromises(self._shares, self._room, board.pending)
        settled: set[Name] = set()
        self._moving = TierMoves(board, self._room, settled)
        self._bars = Restrictions(self._room, self._shares, quota, now, knobs)
        self._victims = Victims(board, self._room, self._shares, settled, now, knobs)
        self._turns = ProjectOrder(
            self._room, self._shares, self._owed, ask=self._next, is_open=self._may, weight=self._weight
        )
        self._overdue = OvertakenGangs(board, self._shares, now, knobs)
        self._reasons = Reasons(board, self._room, self._shares, knobs)
        self._asks: dict[str, Ask] = {}
        self._weights: dict[tuple[str, str], float] = {}
        self._closed: set[WorkClass] = set()
        self._hopeless: dict[tuple[str, int, int, bool], list[Demand]] = defaultdict(list)
        self._starts: list[Start] = []
        self._stops: list[Stop] = []
        self._wakes: list[datetime] = []

    def take_back_what_shrank(self) -> None:
        """Stop borrowers if more is held than there is."""
        for taken in self._victims.for_shrunk_pool():
            self._stop(taken, None, reasons.shrunk(taken, self._shares.units(taken.hold.project)))

    def serve_first_in_line(self, reclaims: Iterable[str]) -> None:
        """Start, or keep room for, the wants for which others were stopped before: of each one task, then more within the share.

        If one does not fit even when all that stops is gone, it is first in line no more.
        """
        wants = [self._board.wants[job] for job in reclaims if job in self._board.wants]
        asks = [self._ask(want.job, self._board.line(want)) for want in wants]
        for ask in asks:
            if self._has_room(ask) or self._takes_kept(ask):
                self._give(ask)
        for ask in asks:
            while ask.left and self._within(ask.line) and self._has_room(ask):
                self._give(ask)

    def serve_next_tries(self) -> None:
        """Start those whose pause is over in what was kept for them. Other tasks of the job that may start take it before."""
        late = [(hold.retry is not None and hold.retry > self._now, hold) for hold in self._room.kept.values()]
        for pauses, hold in sorted(late, key=lambda row: row[0]):
            want = self._board.wants.get(hold.job)
            ask = self._ask(want.job, self._board.line(want)) if want else None
            if pauses and not (ask and ask.left):
                continue
            self._room.give_up(hold)
            if (
                ask
                and ask.left
                and not self._bars.limit(ask.want)
                and self._room.has(ask.line.demand, ask.line.max_tier)
            ):
                self._give(ask)
                self._owed.less(ask.want.project, ask.line.demand, 1)

    def serve_the_rest(self) -> None:
        """All other wants, the project that is the least far along its share first; overdue gangs before what is lent."""
        for project, lines in self._board.lines.items():
            self._enter(project, lines.values())
        turns = [turn for project in self._board.lines if (turn := self._turns.outlook(project))]
        heapify(turns)
        promised = True
        while turns or promised:
            if promised and not (turns and turns[0][0] == PROMISED):
                promised = False
                self._serve_overdue()
                continue
            popped = heappop(turns)
            turn = self._turns.next(popped[-1], popped[0])
            if turn == popped:  # else it was an outlook, or others took what it stood for
                self._serve(popped[-1], popped[0])
                turn = self._turns.next(popped[-1], popped[0])
            if turn:
                heappush(turns, turn)

    def _serve_overdue(self) -> None:
        """The gangs that waited for too long: with what is free, what is being freed, or what was lent."""
        in_vain: set[WorkClass] = set()
        for want, since in self._overdue.wants():
            line = self._board.line(want)
            ask = self._ask(want.job, line)
            if not ask.left or line in in_vain or self._bars.of(want, line):
                continue
            search = len(in_vain) < self._overdue.searches
            if self._room.will_have(line.demand, line.max_tier) or (search and self._call_in(ask, since)):
                self._give(ask)
                self._owed.less(want.project, line.demand, 1)
            else:
                in_vain.add(line)
                self._wakes.append(self._now + AGAIN)
        self._wakes += self._overdue.wakes

    def _call_in(self, ask: Ask, since: datetime) -> bool:
        """Stop others so that the gang, overdue since then, fits once they are gone. False if nobody is stopped."""
        want, line = ask.want, ask.line
        for side, lack in self._room.lacks(line.demand, line.max_tier):
            if self._victims.end_in_time(side, lack, line.max_tier, self._now + AGAIN):
                return False
            if taken := self._victims.for_overdue(want, side, lack, since):
                for one in taken:
                    self._stop(one, want.job, reasons.overdue(one, want))
                return True
        return False

    def answer(self) -> Schedule:
        """All that was decided. Tiers that are idle even now count what runs in worse ones."""
        self._moving.promote()
        return Schedule(
            starts=tuple(self._starts),
            stops=tuple(self._stops),
            moves=self._moving.moves,
            again=min((*self._wakes, *self._bars.wakes), default=None),
            tell=lambda: self._reasons.of_all(self._asks, self._weight, self._bars.of),
        )

    def _enter(self, project: str, lines: Iterable[WorkClass]) -> None:
        for line in lines:
            if reasons.impossible(line.demand, self._room.of_sides(line.max_tier)):
                self._closed.add(line)
                self._owed.less(project, line.demand, line.tasks)
        self._turns.enter(project, [line for line in lines if self._may(line)])

    def _ask(self, job: str, line: WorkClass) -> Ask:
        ask = self._asks.get(job)
        if ask is None:
            want = self._board.wants[job]
            ask = self._asks[job] = Ask(want, line, want.count)
        return ask

    def _next(self, job: str, line: WorkClass) -> Ask | None:
        """The want, unless it is to be passed over."""
        ask = self._ask(job, line)
        return ask if ask.left and not self._bars.of(ask.want, line) else None

    def _has_room(self, ask: Ask) -> bool:
        """True if it fits when all that stops is gone, and its user may have it."""
        return not self._bars.limit(ask.want) and self._room.will_have(ask.line.demand, ask.line.max_tier)

    def _takes_kept(self, ask: Ask) -> bool:
        """Take what is kept for next tries, if the want has a right to it and then fits once all that stops is gone."""
        want, line = ask.want, ask.line
        if self._bars.limit(want):
            return False
        promised = want.job_class <= STANDARD and self._due(line)
        return any(
            self._victims.for_want(want, side, lack, promised=promised, kept=True)
            for side, lack in self._room.lacks(line.demand, line.max_tier)
        )

    def _weight(self, project: str, user: str) -> float:
        """What a user had of late, and has now: parts of the pool times hours."""
        weight = self._weights.get((project, user))
        if weight is None:
            now = self._shares.dominant(self._room.use_of_user(project, user))
            weight = round(self._past.get((project, user), 0.0) + HOURS * now, 9)
            self._weights[project, user] = weight
        return weight

    def _may(self, line: WorkClass) -> bool:
        """True if wants of this line may get something still. Once it is false it stays so."""
        if line in self._closed:
            return False
        if self._room.has(line.demand, line.max_tier) or self._may_move(line) or self._may_reclaim(line):
            return True
        self._closed.add(line)
        return False

    def _may_move(self, line: WorkClass) -> bool:
        """True if others made room for it in the tiers that it takes, by moving to worse ones."""
        worst = line.max_tier
        return worst is not None and self._moving.make_room(line.demand, worst)

    def _serve(self, project: str, go: int) -> None:
        """Give the project's next want what it asks for, put its line off to the last go, or let it wait."""
        ask = self._turns.ask(project, go)
        line = ask.line
        fits = self._room.has(line.demand, line.max_tier)
        if fits and go == LENT and not self._owed.spares(project, line.demand):
            self._turns.put_off(line)
        elif fits or self._reclaim(ask):
            self._give(ask)
            self._owed.less(project, line.demand, 1)
        else:
            self._closed.add(line)

    def _give(self, ask: Ask) -> None:
        """Start a task if it fits now; else keep room for it."""
        want, line = ask.want, ask.line
        ask.left -= 1
        self._weights.pop((want.project, want.user), None)
        if self._room.has(line.demand, line.max_tier):
            tier = self._room.start(want.project, want.user, line.demand, line.max_tier)
            self._starts.append(Start(want.job, tier, self._overdue.has(want, line), want.choice))
        else:
            ask.kept += 1
            ask.side = self._room.keep(want.project, want.user, line.demand, line.max_tier)

    def _within(self, line: WorkClass) -> bool:
        return self._shares.within(line.project, self._room.use_of(line.project), line.demand)

    def _due(self, line: WorkClass) -> bool:
        """True if it is promised: within the share, or one task of a share of which nothing is used."""
        return self._shares.due(line.project, self._room.use_of(line.project), line.demand)

    def _may_reclaim(self, line: WorkClass) -> bool:
        """True if it has waited long enough, has a right to somebody's room, and nobody asked in vain for less."""
        best = min(line.ranks)
        promised = best[0] <= STANDARD and self._due(line)
        if not (promised or best[0] == URGENT or self._victims.lower(line.project, best)):
            return False
        since, _ = line.sinces[0]
        if self._now - since < self._delay:
            self._wakes.append(since + self._delay)
            return False
        failed = self._hopeless[line.project, *best, promised]
        demand = dict(line.demand)
        return not any(all(demand.get(kind, 0) >= amount for kind, amount in less) for less in failed)

    def _reclaim(self, ask: Ask) -> bool:
        """Stop others so that the want fits once they are gone. False if that cannot be, and nobody is stopped."""
        want, line = ask.want, ask.line
        promised = want.job_class <= STANDARD and self._due(line)
        will_have = self._room.will_have(line.demand, line.max_tier)
        if will_have and promised:
            return True
        for side, lack in () if will_have else self._room.lacks(line.demand, line.max_tier):
            if self._victims.end_in_time(side, lack, line.max_tier, self._now + STOP_TAKES):
                self._wakes.append(self._now + STOP_TAKES)
                return False
            if taken := self._victims.for_want(want, side, lack, promised=promised):
                for one in taken:
                    self._stop(one, want.job, reasons.reclaimed(one, want, self._shares.units(one.hold.project)))
                return True
        self._hopeless[want.project, *rank(want), promised].append(line.demand)
        return False

    def _stop(self, taken: Taken, for_job: str | None, reason: str) -> None:
        hold = taken.hold
        if hold.retry is not None:
            return  # nothing of it runs: its room is free at once
        self._stops.append(Stop(hold.job, hold.task, for_job, reason, taken.lost_s))
        self._reasons.stopped.append(hold)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {"default": choosing(schedule), "axlearn": choosing(axlearn.schedule)}
)
