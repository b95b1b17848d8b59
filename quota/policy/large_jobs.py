"""Large jobs that waited for too long: they take back what was lent to others. Pure.

A large job waits until enough is free at once, while small demands take free room away piece by piece. Its own project
keeps room for it when it is overtaken (`bastion.quota.policy.overtaken`). But what the project frees may not be enough: the
job asks for more than the share, or others have borrowed the rest. So a large job earns a second right by waiting. When
its patience ends, borrowers make room for it, as they do for a want within its share. Until then nothing is kept for it
in the rooms of others. So no room is idle, and the policy need not know how long anything runs.

Large is what asks for more than `LARGE` of the capacity: of such jobs only a few can run at once, so they are few. What
asks for more than its project's share is large, too, unless the project has no share. All time counts that a job waited.
Jobs as large as one or larger that started by a right may hold `BUDGET` of the capacity at once, with it; one always may.

By older rules a large job asks for more than `GANG` units. Jobs of exactly `GANG` units had the right as well, with a
patience that grew with the queue, because they are many; and the jobs of the own project that overtook a large job gave
to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import cache
from heapq import merge
from typing import NamedTuple

from ..demand import OVERTAKEN, PolicySettings, Want
from ..resources import total
from ..shares import Demand, Shares, amounts
from .index import WantIndex, WorkClass, began

LARGE = 1 / 40
"""The part of the capacity beyond which a demand is large."""

BUDGET = 1 / 2

PATIENCE = 2.0
"""A large job waits for this many times `gang_patience_s`."""

GANG, QUEUE = 8, 5.0
"""By the rules before `OVERTAKEN`: the units that make a gang, and by how many times `gang_patience_s` more the smallest
of them is patient for each time that the queue fills the capacity."""

AGAIN = timedelta(minutes=5)
"""The time after which a job that could not be served is looked at again."""

LOOKED_AT = 50_000
"""The most attempts that one round looks at in searches for victims that fail (at least four searches are made)."""


class LargeDemand(NamedTuple):
    """The measures of a large demand.

    size: the units that it asks for, of the kind of which it asks for most.
    patience: how long it waits before it is overdue.
    """

    size: int
    patience: timedelta


class LargeJobs:
    """The large jobs that are overdue at this moment. `searches` is the most searches for victims that may fail."""

    def __init__(self, index: WantIndex, shares: Shares, now: datetime, settings: PolicySettings) -> None:
        self._index, self._shares, self._now, self._settings = index, shares, now, settings
        self._kinds = shares.governed or shares.capacity.keys()
        pending: Mapping[str, int] = total(index.pending.values())
        self._queue = {kind: pending.get(kind, 0) / amount for kind, amount in shares.capacity.items() if amount}
        self.searches = max(4, LOOKED_AT // max(1, len(index.holds)))
        self.wakes: list[datetime] = []
        self._large = cache(self._measured if settings.rules >= OVERTAKEN else self._measured_by_units)

    def wants(self) -> list[tuple[Want, datetime]]:
        """Return the overdue jobs, each with the moment since when it is overdue.

        The largest comes first, then the one that waits longest. If there are more than `searches`, the list starts at
        another job every few minutes. `wakes` gets the moments at which more jobs become overdue.
        """
        rows = sorted(
            (-large.size, began, job, large.patience)
            for project, work_classes in self._index.work_classes.items()
            for work_class in work_classes.values()
            if (large := self._large(project, work_class.demand))
            for began, job in self._of(work_class, large.patience)
        )
        many = len(rows) > self.searches
        turn = int(self._now.timestamp()) // AGAIN.seconds * self.searches % len(rows) if many else 0
        rows = rows[turn:] + rows[:turn]  # if there are very many, each gets its turn
        found = [(self._index.wants[job], began + patience) for _, began, job, patience in rows]
        return found if self._settings.rules < OVERTAKEN else list(self._affordable(found))

    def has(self, want: Want, work_class: WorkClass) -> bool:
        """Return True if this want is an overdue large job."""
        large = self._large(want.project, work_class.demand)
        return large is not None and began(want) <= self._now - large.patience

    def _affordable(self, found: Iterable[tuple[Want, datetime]]) -> Iterator[tuple[Want, datetime]]:
        """Return the overdue jobs that the budget allows, beside those as large or larger that started by a right."""
        capacity = self._shares.capacity
        rows = (hold for hold in self._index.holds.values() if hold.overdue)
        held = [hold.demand for hold in rows if self._large(hold.project, amounts(hold.demand))]

        @cache  # many jobs ask for the same
        def allows(demand: Demand) -> bool:
            return all(
                sum(other.get(kind, 0) for other in held if other.get(kind, 0) >= amount) + amount
                <= max(BUDGET * capacity.get(kind, 0), amount)
                for kind, amount in demand
                if kind in self._kinds
            )

        return ((want, since) for want, since in found if allows(amounts(want.demand)))

    def _of(self, work_class: WorkClass, patience: timedelta) -> Iterator[tuple[datetime, str]]:
        last, seen = self._now - patience, set[str]()
        first = min((*work_class.again[:1], *work_class.sinces[:1]))[0]
        if first > last:
            self.wakes.append(first + patience)
            return
        for since, job in merge(work_class.again, work_class.sinces):
            if since > last:
                self.wakes.append(since + patience)
                return
            if job not in seen:
                seen.add(job)
                yield since, job

    def _measured(self, project: str, demand: Demand) -> LargeDemand | None:
        """Return the measures of a demand; None if it is not large."""
        units, capacity = self._shares.units(project), self._shares.capacity
        rows = [(kind, amount) for kind, amount in demand if kind in self._kinds]
        if not any(
            amount > LARGE * capacity.get(kind, 0) or amount > units.get(kind, amount) > 0 for kind, amount in rows
        ):
            return None
        return LargeDemand(max(amount for _, amount in rows), self._times(PATIENCE))

    def _measured_by_units(self, _project: str, demand: Demand) -> LargeDemand | None:
        """Return the measures of a gang by the rules before `OVERTAKEN`; None if the demand makes no gang."""
        size = max((amount for kind, amount in demand if kind in self._kinds), default=0)
        if size < GANG:
            return None
        queue = max(self._queue.get(kind, 0.0) for kind, _ in demand)
        return LargeDemand(size, self._times(PATIENCE if size > GANG else 1 + QUEUE * queue))

    def _times(self, times: float) -> timedelta:
        return timedelta(seconds=self._settings.gang_patience_s * times)
