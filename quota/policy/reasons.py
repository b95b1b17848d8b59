"""The reasons why a job waits or is stopped: one line each, with names and numbers. Pure.

The reason of a waiting job has two parts: what its shape waits for, and which jobs of its project are ahead. The text
of the first part is made once for each shape, because a hundred thousand jobs may wait for the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from ..demand import CLASSES, OVERTAKEN, STANDARD, Holding, Overtaken, PolicySettings, Want
from ..resources import Resources
from ..shares import Demand, Shares, amounts
from .availability import Availability
from .index import WantIndex, WorkClass, place
from .partitions import Partition
from .project_queue import WantProgress
from .reclaim import StoppedAttempt


def reclaimed(taken: StoppedAttempt, want: Want, units: Resources) -> str:
    """Say why an attempt is stopped for a want. `units` are those promised to the project of the attempt."""
    victim, who = taken.hold, f"{want.project}/{want.job} ({want.user})"
    if victim.project == want.project:
        return f"stopped for {who}: {_rank(want)} goes before {_rank(victim)}{_cheapest(taken)}"
    return f"reclaimed for {who}: {_borrowed(victim.project, taken.over, units)}{_cheapest(taken)}"


def overdue(taken: StoppedAttempt, want: Want, rules: int) -> str:
    """Say why an attempt is stopped for a large job that waited for too long."""
    units = _amounts(tuple(taken.over.items()))
    why = f"{taken.hold.project} borrows {units}" if units else f"{_who(taken.hold)} came later"
    waited = "which waited" if rules >= OVERTAKEN else "overtaken"
    return f"room for {want.project}/{want.job} ({want.user}), {waited} for too long: {why}{_cheapest(taken)}"


def overtook(taken: StoppedAttempt, want: Want) -> str:
    """Say why an attempt is stopped for a job of its own project that has a reservation."""
    why = f"{_who(taken.hold)} started while it waited"
    return f"room for {want.project}/{want.job} ({want.user}), overtaken for too long: {why}{_cheapest(taken)}"


def behind(reserved: Overtaken) -> str:
    """Say why a want waits behind the reservation of its project."""
    room = f"{reserved.units} {reserved.kind}"
    time = part_of(reserved.overtaken_s, reserved.limit_s)
    return f"{reserved.project} keeps room for {reserved.user}/{reserved.job} ({room}), overtaken for {time}"


def first(reserved: Overtaken) -> str:
    """Say what the job that has the reservation of its project may expect."""
    time = part_of(reserved.overtaken_s, reserved.limit_s)
    return f"{reserved.project} keeps room for it, overtaken for {time}"


def part_of(seconds: float, limit_s: float) -> str:
    """Return a time and its limit: `2.0 of 3.0 h`."""
    number, unit, digits = _unit(limit_s)
    return f"{seconds / number:.{digits}f} of {limit_s / number:.{digits}f} {unit}"


def shrunk(taken: StoppedAttempt, units: Resources, rules: int) -> str:
    """Say why an attempt is stopped because the capacity shrank."""
    what = "capacity" if rules >= OVERTAKEN else "pool"
    return f"the {what} shrank: {_borrowed(taken.hold.project, taken.over, units)}{_cheapest(taken)}"


def limited(want: Want, kind: str, held: int, most: int) -> str:
    """Say why a want waits although there may be room: its user holds as much as a user may."""
    who = f"a user of {want.project} may hold {most} {kind} at once"
    asked = want.demand[kind]
    return f"asks for {asked} {kind} but {who}" if asked > most else f"{who}, and {want.user} holds {held}"


def resting(want: Want, seconds: float) -> str:
    """Say why a want is lent nothing for this many seconds."""
    times = "once" if want.stops == 1 else f"{want.stops} times"
    return f"stopped for others {times}: it may borrow beyond the share of {want.project} again in {seconds:.0f} s"


def impossible(demand: Demand, partitions: Sequence[Resources]) -> str | None:
    """Say why no partition can ever meet a demand, however long it waits; None if one can."""
    for partition in partitions:
        for kind, amount in demand:
            if amount > partition.get(kind, 0):
                break
        else:
            return None
    most = {kind: max((partition.get(kind, 0) for partition in partitions), default=0) for kind, _ in demand}
    for kind, amount in demand:
        if not most[kind]:
            return f"this fleet has no {kind}: it can never start"
        if amount > most[kind]:
            where = "the fleet has" if len(partitions) == 1 else "no runner's tiers hold more than"
            return f"asks for {amount} {kind} but {where} {most[kind]}: it can never start"
    return f"asks for {_amounts(demand)} but no runner's tiers hold all of it: it can never start"


def choosing(
    want: Want, choice: int | None, text: str, partitions: Sequence[Resources], free: Sequence[Resources]
) -> str:
    """Say which choice a want waits for, why, and what its other choices lack.

    `choice` is None if no choice can ever be met. `partitions` is what each partition holds, `free` what each has free.
    """
    if choice is None:
        return f"{text}; the same holds for each of its {len(want.choices)} choices"
    others = [_lacking(amounts(demand), partitions, free) for n, demand in enumerate(want.choices) if n != choice]
    which = f"{_amounts(amounts(want.choices[choice]))} ({_ORDINALS[choice]} of {len(want.choices)} choices)"
    return f"waits for {which}: {text}; else {'; else '.join(others)}"


_ORDINALS = ("1st", "2nd", "3rd", "4th")


def _lacking(demand: Demand, partitions: Sequence[Resources], free: Sequence[Resources]) -> str:
    """Say what another choice lacks on the partition that has the most free."""
    if impossible(demand, partitions):
        return f"{_amounts(demand)}, more than the fleet has"
    most = {
        kind: max((left.get(kind, 0), partition.get(kind, 0)) for left, partition in zip(free, partitions, strict=True))
        for kind, _ in demand
    }
    kind, amount = max(demand, key=lambda row: (row[1] - most[row[0]][0], row[0]))
    left, held = most[kind]
    there = f"{max(0, left)} of {held} {kind} free"
    return f"{_amounts(demand)}, {there}" if amount > left else f"{_amounts(demand)}, {there}, and not its turn"


class Reasons:
    """The reasons of one round. They are made when all is decided."""

    def __init__(self, index: WantIndex, room: Availability, shares: Shares, settings: PolicySettings) -> None:
        self._index, self._room, self._shares, self._settings = index, room, shares, settings
        self._holders: dict[str, str] = {}
        self._texts: dict[WorkClass, str] = {}
        self._freed: dict[tuple[tuple[str, ...], Partition], str] = {}
        self._kept: list[WantProgress] = []
        self._bar: Callable[[Want, WorkClass], str] = lambda want, work_class: ""
        self.stopped: list[Holding] = []

    def of_all(
        self,
        asks: Mapping[str, WantProgress],
        weight: Callable[[str, str], float],
        bar: Callable[[Want, WorkClass], str],
    ) -> dict[str, str]:
        """Return the reason of every job with tasks that still wait.

        `asks` are the wants that were looked at, `weight` is the use of a user, and `bar` says what keeps a want back.
        """
        self._bar = bar
        self._kept = sorted((ask for ask in asks.values() if ask.kept), key=lambda ask: place(ask.want))
        texts: dict[str, str] = {}
        for project in sorted(self._index.work_classes):
            rows = [
                (job_class, priority, weight(project, user), order, job, work_class)
                for work_class in self._index.work_classes[project].values()
                for user, places in work_class.users.items()
                for job_class, priority, order, job in places
                if job not in asks or asks[job].left
            ]
            rows.sort(key=lambda row: row[:5])
            texts.update(self._of_project([(self._index.wants[job], work_class) for *_, job, work_class in rows]))
        return texts | {ask.want.job: self._kept_for(ask) for ask in self._kept}

    def _of_project(self, rows: Sequence[tuple[Want, WorkClass]]) -> Iterable[tuple[str, str]]:
        """Yield (job, reason) for the waiting wants of one project, which are given in their order."""
        ahead, number = "", 0
        for want, work_class in rows:
            if never := impossible(work_class.demand, self._room.of_partitions(work_class.max_tier)):
                yield want.job, never
                continue
            text = self._bar(want, work_class) or self._text(work_class)
            if number:
                text = f"{number} {'job' if number == 1 else 'jobs'} of {want.project} ahead ({ahead}); {text}"
            if number < 2:  # two names are enough: the number says how many there are
                ahead += f"{', ' if ahead else ''}{_who(want)}"
            number += 1
            yield want.job, text

    def _kept_for(self, ask: WantProgress) -> str:
        """Return the reason of a want for which room is kept."""
        kinds, partition = tuple(kind for kind, _ in ask.work_class.demand), ask.partition
        assert partition is not None
        if (kinds, partition) not in self._freed:
            going = [hold for hold in self._index.holds.values() if hold.stopping]
            rows = [hold for hold in (*going, *self.stopped) if partition.covers(hold.tier)]
            rows = [hold for hold in rows if any(hold.demand.get(kind) for kind in kinds)]
            self._freed[kinds, partition] = _names(sorted(rows, key=age))
        where = f" in {_tiers(partition)}" if len(self._room.partitions) > 1 else ""
        demand, holders = _amounts(ask.work_class.demand), self._freed[kinds, partition]
        return f"first in line: waiting for {demand}{where} being freed by {holders}"

    def _text(self, work_class: WorkClass) -> str:
        if work_class not in self._texts:
            self._texts[work_class] = self._story(work_class)
        return self._texts[work_class]

    def _story(self, work_class: WorkClass) -> str:
        project, demand = work_class.project, work_class.demand
        kind, amount = max(demand, key=lambda row: (row[1] - self._room.most_free(row[0]), row[0]))
        text = f"needs {amount} {kind}, {self._stock(kind, work_class.max_tier)}"
        if held := self._held_over(kind):
            text = f"{text}; {held}"
        if work_class.max_tier is not None and self._room.has(demand):
            worst = work_class.max_tier
            return f"{text}, but not in tier {worst} or better: --max_tier={worst + 1} would take more"
        if not self._shares.within(project, self._room.use_of(project), demand):
            return f"{text}; {self._over(project, demand)}"
        if kept := [ask.want for ask in self._kept if ask.want.demand.get(kind)]:
            return f"{text}, {_more([f'{want.project} ({_who(want)})' for want in kept])} is first in line"
        return f"{text}{self._holder(kind)}"

    def _held_over(self, kind: str) -> str:
        """Say for which next tries some of a kind is kept; empty if none is kept."""
        rows = [hold for hold in sorted(self._room.kept.values(), key=age) if hold.demand.get(kind)]
        if not rows:
            return ""
        units, until = sum(hold.demand[kind] for hold in rows), max(hold.retry for hold in rows if hold.retry)
        tries = _more([_who(hold) for hold in rows])
        return f"{units} held for the next try of {tries} until {until.astimezone(UTC):%H:%M:%S} UTC"

    def _stock(self, kind: str, max_tier: int | None) -> str:
        """Say how much of a kind is free of how much, on each partition that has any."""
        parts = zip(self._room.partitions, self._room.of_partitions(None), strict=True)
        rows = [(partition, held) for partition, capacity in parts if (held := capacity.get(kind, 0))]
        if len(rows) < 2:
            return f"{max(0, self._room.free.get(kind, 0))} of {self._shares.capacity[kind]} free"
        rows = [(partition, held) for partition, held in rows if max_tier is None or partition.first <= max_tier]
        return ", ".join(
            f"{max(0, partition.free.get(kind, 0))} of {held} free in {_tiers(partition)}" for partition, held in rows
        )

    def _over(self, project: str, demand: Demand) -> str:
        used, units = self._room.use_of(project), self._shares.units(project)
        governed = [(kind, amount) for kind, amount in demand if kind in self._shares.governed]
        rows = [(used.get(kind, 0), units.get(kind, 0), kind, amount) for kind, amount in governed]
        use, unit, kind, amount = max(rows, key=lambda row: (row[0] + row[3] - row[1], row[2]))
        idle = f"{'too little' if self._room.most_free(kind) > 0 else 'none'} is idle to borrow"
        if not unit:
            return f"{project} has no share of {kind}, and {idle}"
        if use > unit:
            return f"{project} holds {use} {kind}, more than its share of {unit}, and {idle}"
        return f"{project} would hold {use + amount} {kind}, more than its share of {unit}, and {idle}"

    def _holder(self, kind: str) -> str:
        """Say which project holds most of a kind; empty if none holds any."""
        if kind not in self._holders:
            amounts = {project: used.get(kind, 0) for project, used in self._room.used.items()}
            project = max(sorted(amounts), key=lambda name: amounts[name], default="")
            rows = sorted((hold for hold in self._index.of.get(project, {}).values() if hold.demand.get(kind)), key=age)
            held = sum(hold.demand[kind] for hold in rows)
            self._holders[kind] = f"; {_names(rows)} holds {held}{self._lent(project, kind)}" if rows else ""
        return self._holders[kind]

    def _lent(self, project: str, kind: str) -> str:
        over = self._shares.borrowed(project, self._room.stays(project)).get(kind)
        return f", borrows {over}: may be reclaimed after {self._settings.reclaim_delay_s:g} s" if over else ""


def _tiers(partition: Partition) -> str:
    """Name a partition by its tiers: `tier 2`, `tiers 0 to 1`."""
    last = partition.first + len(partition.tiers) - 1
    return f"tier {last}" if last == partition.first else f"tiers {partition.first} to {last}"


def _borrowed(project: str, over: Resources, units: Resources) -> str:
    kind, amount = max(over.items(), key=lambda row: (row[1], row[0]))
    return f"{project} borrowed {amount} {kind} over its share of {units.get(kind, 0)}"


def age(hold: Holding) -> tuple[datetime, int, str, int]:
    """Return the sort key of a holding, oldest first. No two are equal, so the order is always the same."""
    return hold.since, hold.order, hold.job, hold.task


def _rank(row: Want | Holding) -> str:
    name = f"priority {row.priority}"
    return name if row.job_class == STANDARD else f"{CLASSES[row.job_class]}, {name}"


def _cheapest(taken: StoppedAttempt) -> str:
    """Say why this attempt was chosen, and what its stop costs."""
    among = f"the cheapest to stop of {taken.among}, " if taken.among > 1 else ""
    return f"; {among}it loses {_span(taken.lost_s)} of work"


def _span(seconds: float) -> str:
    number, unit, digits = _unit(seconds)
    return f"{seconds / number:.{digits}f} {unit}"


def _unit(seconds: float) -> tuple[float, str, int]:
    """Return the unit that shows a time best: its seconds, its name, and the digits behind the point."""
    if seconds < 120:
        return 1, "s", 0
    return (60, "min", 0) if seconds < 7200 else (3600, "h", 1)


def _names(holds: Sequence[Holding]) -> str:
    """Name holdings as `nlp (alice/llm-1, +2 more)`: the project of the first, and the number of the others."""
    return f"{holds[0].project} ({_more([_who(hold) for hold in holds])})" if holds else "others"


def _who(row: Want | Holding) -> str:
    return f"{row.user}/{row.job}"


def _more(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, +{len(names) - 1} more"


def _amounts(demand: Demand) -> str:
    return " and ".join(f"{amount} {kind}" for kind, amount in demand)
