"""The accounts of one round: what is free, what is being freed, and what is used. Pure: they change only themselves."""

from __future__ import annotations

from functools import cache

from ..demand import Holding, Want
from ..resources import Resources, total
from ..shares import Demand, amounts
from ..tiers import Capacity, Tiers
from .index import Name, WantIndex, WorkClass
from .partitions import Partition, add, partitions

NOTHING: Resources = {}


class Availability:
    """The room of all partitions in one round. It starts from the index; every decision is entered at once.

    All that one task is given lies in one partition: the first one that will do.

    partitions: the partitions, best first.
    free: the units by kind that all partitions have free together.
    used: the units that each project holds or was given.
    staying: the same without what stops.
    kept: what is kept for next tries, as far as there is room for it beside what runs. It counts as used.
    """

    def __init__(self, capacity: Capacity, index: WantIndex) -> None:
        self._capacity, self._held = capacity, cache(capacity.of_partitions)
        self.partitions = partitions(capacity, index)
        self.free = total(partition.free for partition in self.partitions)
        self.used = {project: dict(book) for project, book in index.used.items() if book}
        self.staying = {project: dict(book) for project, book in index.used.items() if book}
        for project, book in index.stopping.items():
            add(self.staying.get(project, {}), book.items(), -1)
        self._users = index.users
        self._given: dict[tuple[str, str], dict[str, int]] = {}
        self.kept: dict[Name, Holding] = {}
        self._lent: dict[Name, Tiers] = {}
        rows = index.kept.values()  # if not all of them fit, those that ended last get their room
        for hold in sorted(rows, key=lambda hold: (hold.since, hold.order, hold.job, hold.task), reverse=True):
            self._keep_on(hold)

    def of_partitions(self, max_tier: int | None) -> tuple[Resources, ...]:
        """Return what the tiers up to `max_tier` hold when nothing is in use, by partition."""
        return self._held(max_tier)

    def partition_of(self, tier: int) -> Partition:
        """Return the partition of what is named after this tier."""
        return self.partitions[self._capacity.partition_of(tier)]

    def has(self, demand: Demand, max_tier: int | None = None) -> bool:
        """Return True if the demand fits in what one partition has free now, in the tiers that will do."""
        for partition in self.partitions:  # noqa: SIM110 - asked for every line, and a loop is twice as fast
            if partition.has(demand, max_tier):
                return True
        return False

    def is_apart(self, work_class: WorkClass, kept: Want) -> bool:
        """Return True if a task of the work class would start in a partition that does not give what `kept` asks for."""
        first = self._first(work_class)
        return first is not None and not first.gives(amounts(kept.demand), kept.max_tier)

    def has_beside(self, both: Demand, kept: Want, work_class: WorkClass) -> bool:
        """Return True if a partition has free what `kept` and a task of the work class ask for `both` together.

        Tiers that will not do for `kept` count only if the task fits there: what lies in better tiers of the partition
        can then be moved there.
        """
        asked, worst, first = amounts(kept.demand), kept.max_tier, self._first(work_class)
        if first is not None and worst is not None and first.has_beyond(work_class.demand, work_class.max_tier, worst):
            worst = work_class.max_tier
        return any(
            partition.gives(asked, kept.max_tier) and partition.has(both, worst) for partition in self.partitions
        )

    def _first(self, work_class: WorkClass) -> Partition | None:
        """Return the partition where a task of the work class would start; None if it fits nowhere."""
        demand, max_tier = work_class.demand, work_class.max_tier
        return next((partition for partition in self.partitions if partition.has(demand, max_tier)), None)

    def could_give(self, demand: Demand, max_tier: int | None) -> bool:
        """Return True if a partition gives this demand once nothing is in use there."""
        return any(partition.could_give(demand, max_tier) for partition in self.partitions)

    def most_free(self, kind: str) -> int:
        """Return the most of a kind that one partition has free: one task cannot get more."""
        return max(partition.free.get(kind, 0) for partition in self.partitions)

    def lacks(self, demand: Demand, max_tier: int | None = None) -> list[tuple[Partition, dict[str, int]]]:
        """Return each partition that may give this demand, with what it lacks even when all that stops is gone."""
        return [
            (partition, partition.lack(demand, max_tier))
            for partition in self.partitions
            if partition.gives(demand, max_tier)
        ]

    def will_have(self, demand: Demand, max_tier: int | None = None) -> bool:
        """Return True if the demand fits in one partition when all that stops is gone."""
        return not all(lack for _, lack in self.lacks(demand, max_tier))

    def use_of(self, project: str) -> Resources:
        """Return what a project holds or was given."""
        return self.used.get(project, NOTHING)

    def stays(self, project: str) -> Resources:
        """Return what a project holds or was given, without what stops."""
        return self.staying.get(project, NOTHING)

    def use_of_user(self, project: str, user: str) -> Resources:
        """Return what a user of a project holds or was given."""
        given = self._given.get((project, user))
        return self._users.get((project, user), NOTHING) if given is None else given

    def start(self, project: str, user: str, demand: Demand, max_tier: int | None = None) -> int:
        """Give away free room. Return the number of the tier that it is named after."""
        self._book(project, user, demand)
        add(self.free, demand, -1)
        return next(partition for partition in self.partitions if partition.has(demand, max_tier)).start(
            demand, max_tier
        )

    def keep(self, project: str, user: str, demand: Demand, max_tier: int | None = None) -> Partition:
        """Keep room for a task that cannot start yet: free room first, the rest from what is being freed.

        Return the partition where it is kept.
        """
        self._book(project, user, demand)
        partition = next(partition for partition, lack in self.lacks(demand, max_tier) if not lack)
        add(self.free, partition.keep(demand, max_tier), -1)
        return partition

    def set_aside(self, partition: Partition, demand: Demand, max_tier: int | None) -> None:
        """Keep what a partition has free of a demand that will fit there soon."""
        add(self.free, partition.set_aside(demand, max_tier), -1)

    def stop(self, hold: Holding) -> None:
        """Enter that an attempt will stop."""
        demand = amounts(hold.demand)
        self.partition_of(hold.tier).stop(hold.tier, demand)
        add(self.staying[hold.project], demand, -1)

    def kept_of(self, project: str) -> list[tuple[Name, Holding]]:
        """Return the rows of `kept` that belong to one project."""
        return [row for row in self.kept.items() if row[1].project == project]

    def give_up(self, hold: Holding) -> None:
        """Free the room that was kept for a next try."""
        demand = amounts(hold.demand)
        del self.kept[hold.job, hold.task]
        self.partition_of(hold.tier).give_back(self._lent.pop((hold.job, hold.task)))
        add(self.free, demand)
        self._book(hold.project, hold.user, demand, -1)

    def _keep_on(self, hold: Holding) -> None:
        partition, demand = self.partition_of(hold.tier), amounts(hold.demand)
        if partition.has(demand, hold.max_tier):
            self.kept[hold.job, hold.task] = hold
            self._lent[hold.job, hold.task] = partition.lend(demand, hold.max_tier)
            add(self.free, demand, -1)
            self._book(hold.project, hold.user, demand)

    def _book(self, project: str, user: str, demand: Demand, sign: int = 1) -> None:
        add(self.used.setdefault(project, {}), demand, sign)
        add(self.staying.setdefault(project, {}), demand, sign)
        add(self._given.setdefault((project, user), dict(self.use_of_user(project, user))), demand, sign)
