"""The default policy, and all policies by name. Pure.

The default policy does not touch running tasks to give away free room. It gives it away in three passes, each time to
the project that would then have used the smallest part of its share (`Shares.turn`):

1. Promised room. A want gets it if its project stays within its share, or if the want is the one task of an unused
   share that rounding made too small for it.
2. Lent room that is not promised to others who wait. Each project keeps its own order, so a gang larger than the
   share does not lose its place to later jobs while there is room, and does not block them when there is none.
3. All room that is left.

Between the first and the second pass, jobs with a reservation take the room of their project
(`bastion.quota.policy.overtaken`), and large jobs that waited for too long take back what was lent
(`bastion.quota.policy.large_jobs`).

If a promised want does not fit and has waited `reclaim_delay_s`, borrowers are stopped for it. For a more important
want, less important attempts of its own project are stopped, too. The stops and the want's turn are one decision: it
is made only if the want then fits. What is free or being freed is kept for the want, in this round and in the next ones
(`reclaims`), until it has started. Before all that, if the capacity shrank, borrowers are stopped until the rest fits.

If the try of a task failed and the task is tried again soon, its room is kept for it over the pause, as if it still
ran. Then its next try starts before any other job gets room. A want that may stop the task takes that room at once.

Wants of one project that ask for the same form one work class, and each work class is searched once. In a round free
room only becomes less, so a want that gets nothing once gets nothing later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from heapq import heapify, heappop, heappush
from types import MappingProxyType

from ..demand import OVERTAKEN, STANDARD, Overtaken, PolicySettings, Schedule, Start, Stop, Want
from ..project_work import Work
from ..quota import Quota
from ..shares import Demand, Shares
from ..tiers import Capacity
from . import axlearn, reasons
from .availability import Availability
from .index import Name, WantIndex, WorkClass, rank
from .interface import Past, Policy
from .large_jobs import AGAIN, LargeJobs
from .overtaken import OvertakenJobs
from .project_order import LENT, PROMISED, ProjectOrder
from .project_queue import WantProgress
from .reasons import Reasons
from .reclaim import URGENT, StoppedAttempt, Victims
from .restrictions import Restrictions
from .shapes import choosing
from .share_promises import SharePromises
from .tier_moves import TierMoves

STOP_TAKES = timedelta(seconds=30)
"""If enough room comes free by time limits within this time, nothing is stopped for it: a stop would take as long. What is
promised is kept as it comes free."""

HOURS = 1.0
"""The weight of what a user holds now: as if the user had held it for this many hours."""


def schedule(
    *,
    index: WantIndex,
    reclaims: tuple[str, ...],
    quota: Quota,
    capacity: Capacity,
    past: Past,
    work: Work,
    now: datetime,
    settings: PolicySettings,
) -> Schedule:
    """Decide by the default policy. See `Policy` for the arguments."""
    state = _Round(index, quota, capacity, past, work, now, settings)
    state.take_back_what_shrank()
    state.serve_first_in_line(reclaims)
    state.serve_next_tries()
    state.serve_the_rest()
    return state.answer()


class _Round:
    """One round of the default policy."""

    def __init__(
        self,
        index: WantIndex,
        quota: Quota,
        capacity: Capacity,
        past: Past,
        work: Work,
        now: datetime,
        settings: PolicySettings,
    ) -> None:
        self._index, self._quota, self._past, self._now = index, quota, past, now
        self._delay, self._rules = timedelta(seconds=settings.reclaim_delay_s), settings.rules
        self._shares = Shares(quota, capacity.total(), settings.rules)
        self._room = Availability(capacity, index)
        self._owed = SharePromises(self._shares, self._room, index.pending)
        settled: set[Name] = set()
        self._moving = TierMoves(index, self._room, settled)
        self._bars = Restrictions(self._room, self._shares, quota, now, settings)
        self._victims = Victims(index, self._room, self._shares, settled, now, settings)
        self._turns = ProjectOrder(
            self._room,
            self._shares,
            self._owed,
            ask=self._next,
            is_open=self._may,
            weight=self._weight,
            last=lambda work_class, user: self._overtaken.last(work_class, user),
        )
        self._overdue = LargeJobs(index, self._shares, now, settings)
        self._reasons = Reasons(index, self._room, self._shares, settings)
        self._asks: dict[str, WantProgress] = {}
        self._weights: dict[tuple[str, str], float] = {}
        self._closed: set[WorkClass] = set()
        self._hopeless: dict[tuple[str, int, int, bool], list[Demand]] = defaultdict(list)
        self._starts: list[Start] = []
        self._stops: list[Stop] = []
        self._wakes: list[datetime] = []
        self._overtaken = self._overtaken_jobs(work, now, settings)

    def _overtaken_jobs(self, work: Work, now: datetime, settings: PolicySettings) -> OvertakenJobs:
        return OvertakenJobs(
            self._index,
            self._room,
            self._shares,
            self._owed,
            work,
            weight=self._weight,
            bar=self._in_vain,
            now=now,
            settings=settings,
        )

    def take_back_what_shrank(self) -> None:
        """Stop borrowers if more is held than there is."""
        for taken in self._victims.for_shrunk_capacity():
            self._stop(taken, None, reasons.shrunk(taken, self._shares.units(taken.hold.project), self._rules))

    def serve_first_in_line(self, reclaims: Iterable[str]) -> None:
        """Start the wants for which others were stopped before, or keep room for them.

        Each gets room for one task first, then for more tasks within the share. A want that does not fit even when all
        that stops is gone loses this priority.
        """
        wants = [self._index.wants[job] for job in reclaims if job in self._index.wants]
        asks = [self._ask(want.job, self._index.work_class(want)) for want in wants]
        for ask in asks:
            if self._has_room(ask) or self._takes_kept(ask):
                self._give(ask)
        for ask in asks:
            while ask.left and self._within(ask.work_class) and self._has_room(ask):
                self._give(ask)

    def serve_next_tries(self) -> None:
        """Start tasks whose pause is over in the room that was kept for them.

        Another task of the same job that may start takes the room before the pause is over.
        """
        late = [(hold.retry is not None and hold.retry > self._now, hold) for hold in self._room.kept.values()]
        for pauses, hold in sorted(late, key=lambda row: row[0]):  # those whose pause is over come first
            want = self._index.wants.get(hold.job)
            ask = self._ask(want.job, self._index.work_class(want)) if want else None
            if pauses and not (ask and ask.left):
                continue
            self._room.give_up(hold)
            if (
                ask
                and ask.left
                and not self._bars.limit(ask.want)
                and self._room.has(ask.work_class.demand, ask.work_class.max_tier)
            ):
                self._give(ask)
                self._owed.less(ask.want.project, ask.work_class.demand, 1)

    def serve_the_rest(self) -> None:
        """Serve all other wants in the order of their projects' turns. Overdue gangs come before lent room."""
        for project, work_classes in self._index.work_classes.items():
            self._enter(project, work_classes.values())
        turns = [turn for project in self._index.work_classes if (turn := self._turns.outlook(project))]
        heapify(turns)
        promised = True
        while turns or promised:
            if promised and not (turns and turns[0][0] == PROMISED):  # the first pass is over
                promised = False
                self._serve_reservations()
                self._serve_overdue()
                continue
            popped = heappop(turns)
            turn = self._turns.next(popped[-1], popped[0])
            if turn == popped:  # else it was an estimate, or others took the room meanwhile
                self._serve(popped[-1], popped[0])
                turn = self._turns.next(popped[-1], popped[0])
            if turn:
                heappush(turns, turn)

    def _serve_overdue(self) -> None:
        """Serve the gangs that waited for too long: with room that is free, that is being freed, or that was lent."""
        in_vain: set[WorkClass] = set()
        for want, since in self._overdue.wants():
            work_class = self._index.work_class(want)
            ask = self._ask(want.job, work_class)
            if not ask.left or work_class in in_vain or self._barred(want, work_class):
                continue
            search = len(in_vain) < self._overdue.searches
            if self._room.will_have(work_class.demand, work_class.max_tier) or (search and self._call_in(ask, since)):
                self._give(ask)
                self._owed.less(want.project, work_class.demand, 1)
            else:
                in_vain.add(work_class)
                self._wakes.append(self._now + AGAIN)
        self._wakes += self._overdue.wakes

    def _serve_reservations(self) -> None:
        """Serve the jobs with a reservation: with free room that is not promised to others, or that their juniors hold.

        Those that are overtaken most beyond their limit come first.
        """
        rows = sorted(
            self._overtaken.reservations.values(), key=lambda row: (row.limit_s - row.overtaken_s, row.project)
        )
        for found in rows:
            want = self._index.wants[found.job]
            work_class = self._index.work_class(want)
            ask = self._ask(want.job, work_class)
            if not ask.left or self._bars.of(want, work_class):
                continue
            fits = self._room.has(work_class.demand, work_class.max_tier)
            if (fits and self._owed.spares(want.project, work_class.demand)) or (not fits and self._take_over(ask)):
                self._give(ask)
                self._owed.less(want.project, work_class.demand, 1)
            else:
                self._wakes.append(self._now + AGAIN)

    def _take_over(self, ask: WantProgress) -> bool:
        """Stop jobs that overtook one with a reservation, so that it fits once they are gone.

        Return False if nothing is stopped.
        """
        want, work_class = ask.want, ask.work_class
        others = self._overtaken.is_light(want.project, want.user)
        for partition, lack in self._room.lacks(work_class.demand, work_class.max_tier):
            if not lack or self._victims.end_in_time(partition, lack, work_class.max_tier, self._now + AGAIN):
                return False
            if taken := self._victims.for_reservation(want, partition, lack, others=others):
                for one in taken:
                    self._stop(one, want.job, reasons.overtook(one, want))
                return True
        return False

    def _call_in(self, ask: WantProgress, since: datetime) -> bool:
        """Stop others so that the gang, overdue since `since`, fits once they are gone.

        Return False if nothing is stopped.
        """
        want, work_class = ask.want, ask.work_class
        for partition, lack in self._room.lacks(work_class.demand, work_class.max_tier):
            if self._victims.end_in_time(partition, lack, work_class.max_tier, self._now + AGAIN):
                return False
            if taken := self._victims.for_overdue(want, partition, lack, since):
                for one in taken:
                    self._stop(one, want.job, reasons.overdue(one, want, self._rules))
                return True
        return False

    def answer(self) -> Schedule:
        """Return all that was decided, after running tasks are moved in the accounts to better tiers that are idle."""
        self._moving.promote()
        return Schedule(
            starts=tuple(self._starts),
            stops=tuple(self._stops),
            moves=self._moving.moves,
            again=min((*self._wakes, *self._bars.wakes, *self._overtaken.wakes), default=None),
            reservations=self._overtaken.reservations,
            overtaken=self._overtaken_of,
            held_back=self._held_back,
            tell=self._told,
        )

    def _told(self) -> dict[str, str]:
        texts = self._reasons.of_all(self._asks, self._weight, self._barred)
        for reserved in self._overtaken.reservations.values():
            if reserved.job in texts:
                texts[reserved.job] += f"; {reasons.first(reserved)}"
        return texts

    def _overtaken_of(self, job: str) -> Overtaken | None:
        want = self._index.wants.get(job)
        if want is None or not self._index.sizes_differ(want.project) or self._never(self._index.work_class(want)):
            return None
        reserved = self._overtaken.reservations.get(want.project)
        return reserved if reserved and reserved.job == job else self._overtaken.of(want)

    def _held_back(self, job: str) -> bool:
        want = self._index.wants.get(job)
        return want is not None and self._overtaken.holds_back(want, self._index.work_class(want))

    def _enter(self, project: str, work_classes: Iterable[WorkClass]) -> None:
        for work_class in work_classes:
            if self._never(work_class):
                self._closed.add(work_class)
                self._owed.less(project, work_class.demand, work_class.tasks)
        self._turns.enter(project, [work_class for work_class in work_classes if self._may(work_class)])

    def _ask(self, job: str, work_class: WorkClass) -> WantProgress:
        ask = self._asks.get(job)
        if ask is None:
            want = self._index.wants[job]
            ask = self._asks[job] = WantProgress(want, work_class, want.count)
        return ask

    def _next(self, job: str, work_class: WorkClass) -> WantProgress | None:
        """Return the entry of a want, or None if the want is to be passed over."""
        ask = self._ask(job, work_class)
        return ask if ask.left and not self._barred(ask.want, work_class) else None

    def _barred(self, want: Want, work_class: WorkClass) -> str:
        """Say what keeps a want back although there may be room; empty if nothing does."""
        if self._overtaken.holds_back(want, work_class):
            return reasons.behind(self._overtaken.reservations[want.project])
        return self._bars.of(want, work_class)

    def _in_vain(self, want: Want, work_class: WorkClass) -> str:
        """Say why a want could not use room that is kept for it; empty if it could."""
        if not self._room.could_give(work_class.demand, work_class.max_tier):
            return "no runner that answers holds as much"
        return self._bars.of(want, work_class)

    def _never(self, work_class: WorkClass) -> str:
        """Say why no want of this work class can ever start; empty if it can."""
        return reasons.impossible(work_class.demand, self._room.of_partitions(work_class.max_tier)) or ""

    def _has_room(self, ask: WantProgress) -> bool:
        """Return True if the want fits when all that stops is gone, and its user may have it."""
        return not self._bars.limit(ask.want) and self._room.will_have(ask.work_class.demand, ask.work_class.max_tier)

    def _takes_kept(self, ask: WantProgress) -> bool:
        """Take room that is kept for next tries, if the want has a right to it.

        Return True if the want then fits once all that stops is gone.
        """
        want, work_class = ask.want, ask.work_class
        if self._bars.limit(want):
            return False
        promised = want.job_class <= STANDARD and self._due(work_class)
        return any(
            self._victims.for_want(want, partition, lack, promised=promised, kept=True)
            for partition, lack in self._room.lacks(work_class.demand, work_class.max_tier)
        )

    def _weight(self, project: str, user: str) -> float:
        """Return the recent and present use of a user: fractions of the capacity times hours."""
        weight = self._weights.get((project, user))
        if weight is None:
            now = self._shares.dominant(self._room.use_of_user(project, user))
            weight = round(self._past.get((project, user), 0.0) + HOURS * now, 9)
            self._weights[project, user] = weight
        return weight

    def _may(self, work_class: WorkClass) -> bool:
        """Return True if wants of this work class may still get something. Once it is False, it stays False."""
        if work_class in self._closed:
            return False
        if (
            self._room.has(work_class.demand, work_class.max_tier)
            or self._may_move(work_class)
            or self._may_reclaim(work_class)
        ):
            return True
        self._closed.add(work_class)
        return False

    def _may_move(self, work_class: WorkClass) -> bool:
        """Move others to worse tiers, so that it fits in the tiers that it takes. Return True if they made room."""
        worst = work_class.max_tier
        return worst is not None and self._moving.make_room(work_class.demand, worst)

    def _serve(self, project: str, go: int) -> None:
        """Give the project's next want what it asks for, put its work class off to the last pass, or let it wait."""
        ask = self._turns.ask(project, go)
        work_class = ask.work_class
        fits = self._room.has(work_class.demand, work_class.max_tier)
        if fits and go == LENT and not self._owed.spares(project, work_class.demand):
            self._turns.put_off(work_class)
        elif fits or self._reclaim(ask):
            self._give(ask)
            self._owed.less(project, work_class.demand, 1)
        else:
            self._closed.add(work_class)

    def _give(self, ask: WantProgress) -> None:
        """Start a task if it fits now. Otherwise keep room for it."""
        want, work_class = ask.want, ask.work_class
        ask.left -= 1
        self._weights.pop((want.project, want.user), None)
        if self._room.has(work_class.demand, work_class.max_tier):
            tier = self._room.start(want.project, want.user, work_class.demand, work_class.max_tier)
            self._starts.append(Start(want.job, tier, self._by_right(want, work_class), want.choice))
            if not ask.left and not ask.kept:
                self._overtaken.has_started(want)
        else:
            ask.kept += 1
            ask.partition = self._room.keep(want.project, want.user, work_class.demand, work_class.max_tier)

    def _by_right(self, want: Want, work_class: WorkClass) -> bool:
        """Return True if a want that starts was overtaken for too long."""
        reserved = self._overtaken.reservations.get(want.project)
        return self._overdue.has(want, work_class) or (reserved is not None and reserved.job == want.job)

    def _within(self, work_class: WorkClass) -> bool:
        return self._shares.within(work_class.project, self._room.use_of(work_class.project), work_class.demand)

    def _due(self, work_class: WorkClass) -> bool:
        """Return True if the room is promised: within the share, or for the one task of an unused share."""
        return self._shares.due(work_class.project, self._room.use_of(work_class.project), work_class.demand)

    def _may_reclaim(self, work_class: WorkClass) -> bool:
        """Return True if a search for attempts to stop may help this work class.

        It has waited long enough and has a right to others' room, and no search for a smaller demand has failed.
        """
        best = min(work_class.ranks)
        promised = best[0] <= STANDARD and self._due(work_class)
        if not (promised or best[0] == URGENT or self._victims.lower(work_class.project, best)):
            return False
        since, _ = work_class.sinces[0]
        if self._now - since < self._delay:
            self._wakes.append(since + self._delay)
            return False
        failed = self._hopeless[work_class.project, *best, promised]
        demand = dict(work_class.demand)
        return not any(all(demand.get(kind, 0) >= amount for kind, amount in less) for less in failed)

    def _reclaim(self, ask: WantProgress) -> bool:
        """Stop others so that the want fits once they are gone. Return False if none can make it fit.

        Then nothing is stopped.
        """
        want, work_class = ask.want, ask.work_class
        promised = want.job_class <= STANDARD and self._due(work_class)
        will_have = self._room.will_have(work_class.demand, work_class.max_tier)
        if will_have and promised:
            return True
        for partition, lack in () if will_have else self._room.lacks(work_class.demand, work_class.max_tier):
            if self._victims.end_in_time(partition, lack, work_class.max_tier, self._now + STOP_TAKES):
                self._wakes.append(self._now + STOP_TAKES)
                if promised and self._rules >= OVERTAKEN:
                    self._room.set_aside(partition, work_class.demand, work_class.max_tier)
                return False
            if taken := self._victims.for_want(want, partition, lack, promised=promised):
                for one in taken:
                    self._stop(one, want.job, reasons.reclaimed(one, want, self._shares.units(one.hold.project)))
                return True
        self._hopeless[want.project, *rank(want), promised].append(work_class.demand)
        return False

    def _stop(self, taken: StoppedAttempt, for_job: str | None, reason: str) -> None:
        hold = taken.hold
        if hold.retry is not None:
            return  # the attempt has failed, so nothing runs, and its room is free at once
        self._stops.append(Stop(hold.job, hold.task, for_job, reason, taken.lost_s))
        self._reasons.stopped.append(hold)


POLICIES: Mapping[str, Policy] = MappingProxyType(
    {"default": choosing(schedule), "axlearn": choosing(axlearn.schedule)}
)
