"""Why a job waits and why it is stopped: one line each, with names and numbers. Pure.

The first waiting want of a project and shape gets the whole story; those behind it are told who is ahead, in words
that are made once for each shape, because a hundred thousand jobs may wait for the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from quota.board import Board, Line, place
from quota.claims import CLASSES, STANDARD, Hold, Knobs, Want
from quota.queue import Ask
from quota.reclaim import Taken
from quota.resources import Resources
from quota.room import Room
from quota.shares import Demand, Shares, amounts


def reclaimed(taken: Taken, want: Want, units: Resources) -> str:
    """Why an attempt is stopped for a want."""
    victim, who = taken.hold, f"{want.project}/{want.job} ({want.user})"
    if victim.project == want.project:
        return f"stopped for {who}: {_rank(want)} goes before {_rank(victim)}{_cheapest(taken)}"
    return f"reclaimed for {who}: {_borrowed(victim.project, taken.over, units)}{_cheapest(taken)}"


def overdue(taken: Taken, want: Want) -> str:
    """Why an attempt is stopped for a gang beyond its share."""
    units = _amounts(tuple(taken.over.items()))
    why = f"{taken.hold.project} borrows {units}" if units else f"{_who(taken.hold)} came later"
    return f"room for {want.project}/{want.job} ({want.user}), overtaken for too long: {why}{_cheapest(taken)}"


def shrunk(taken: Taken, units: Resources) -> str:
    """Why an attempt is stopped for nobody's sake."""
    return f"the pool shrank: {_borrowed(taken.hold.project, taken.over, units)}{_cheapest(taken)}"


def limited(want: Want, kind: str, held: int, most: int) -> str:
    """Why a want waits though there may be room: its user holds as much as a user may."""
    who = f"a user of {want.project} may hold {most} {kind} at once"
    asked = want.demand[kind]
    return f"asks for {asked} {kind} but {who}" if asked > most else f"{who}, and {want.user} holds {held}"


def resting(want: Want, seconds: float) -> str:
    """Why a want is lent nothing for a while."""
    times = "once" if want.stops == 1 else f"{want.stops} times"
    return f"was stopped for others {times}: room beyond the share of {want.project} is lent to it again in {seconds:.0f} s"


def impossible(demand: Demand, pool: Resources) -> str | None:
    """Why a demand can never be met, however long it waits; None if it can."""
    for kind, amount in demand:
        held = pool.get(kind, 0)
        if not held:
            return f"kind {kind} is in no pool"
        if amount > held:
            return f"asks for {amount} {kind} but the pool holds {held}: it can never start"
    return None


def choosing(want: Want, choice: int | None, text: str, pool: Resources, free: Resources) -> str:
    """What a want with several choices waits for (None: nothing that can be), why, and what the others lack."""
    if choice is None:
        return f"{text}; so it is with each of its {len(want.choices)} choices"
    others = [_lacking(amounts(demand), pool, free) for n, demand in enumerate(want.choices) if n != choice]
    which = f"{_amounts(amounts(want.choices[choice]))} ({_ORDINALS[choice]} of {len(want.choices)} choices)"
    return f"waits for {which}: {text}; else {'; else '.join(others)}"


_ORDINALS = ("1st", "2nd", "3rd", "4th")


def _lacking(demand: Demand, pool: Resources, free: Resources) -> str:
    """What a demand lacks that would do, too."""
    if impossible(demand, pool):
        return f"{_amounts(demand)}, more than there is"
    kind, amount = max(demand, key=lambda row: (row[1] - free.get(row[0], 0), row[0]))
    there = f"{max(0, free.get(kind, 0))} of {pool[kind]} {kind} free"
    return (
        f"{_amounts(demand)}, {there}"
        if amount > free.get(kind, 0)
        else f"{_amounts(demand)}, {there}, and not its turn"
    )


class Reasons:
    """The reasons of one round, asked for when all is decided."""

    def __init__(self, board: Board, room: Room, shares: Shares, knobs: Knobs) -> None:
        self._board, self._room, self._shares, self._knobs = board, room, shares, knobs
        self._holders: dict[str, str] = {}
        self._texts: dict[Line, str] = {}
        self._freed: dict[tuple[str, ...], str] = {}
        self._kept: list[Ask] = []
        self._bar: Callable[[Want, Line], str] = lambda want, line: ""
        self.stopped: list[Hold] = []

    def of_all(
        self, asks: Mapping[str, Ask], weight: Callable[[str, str], float], bar: Callable[[Want, Line], str]
    ) -> dict[str, str]:
        """The reason of every job with tasks that still wait; `asks` are the wants that were looked at."""
        self._bar = bar
        self._kept = sorted((ask for ask in asks.values() if ask.kept), key=lambda ask: place(ask.want))
        texts: dict[str, str] = {}
        for project in sorted(self._board.lines):
            rows = [
                (job_class, priority, weight(project, user), order, job, line)
                for line in self._board.lines[project].values()
                for user, places in line.users.items()
                for job_class, priority, order, job in places
                if job not in asks or asks[job].left
            ]
            rows.sort(key=lambda row: row[:5])
            texts.update(self._of_project([(self._board.wants[job], line) for *_, job, line in rows]))
        return texts | {ask.want.job: self._kept_for(ask) for ask in self._kept}

    def _of_project(self, rows: Sequence[tuple[Want, Line]]) -> Iterable[tuple[str, str]]:
        """(job, reason) of the waiting wants of one project, given in their order."""
        ahead, number = "", 0
        for want, line in rows:
            if never := impossible(line.demand, self._room.within_tier(line.max_tier)):
                yield want.job, never
                continue
            text = self._bar(want, line) or self._text(line)
            if number:
                text = f"{number} {'job' if number == 1 else 'jobs'} of {want.project} ahead ({ahead}); {text}"
            if number < 2:
                ahead += f"{', ' if ahead else ''}{_who(want)}"
            number += 1
            yield want.job, text

    def _kept_for(self, ask: Ask) -> str:
        """The reason of a want for which room is kept."""
        kinds = tuple(kind for kind, _ in ask.line.demand)
        if kinds not in self._freed:
            going = [hold for hold in self._board.holds.values() if hold.stopping]
            rows = [hold for hold in (*going, *self.stopped) if any(hold.demand.get(kind) for kind in kinds)]
            self._freed[kinds] = _names(sorted(rows, key=age))
        return f"first in line: waiting for {_amounts(ask.line.demand)} being freed by {self._freed[kinds]}"

    def _text(self, line: Line) -> str:
        if line not in self._texts:
            self._texts[line] = self._story(line)
        return self._texts[line]

    def _story(self, line: Line) -> str:
        project, demand = line.project, line.demand
        kind, amount = max(demand, key=lambda row: (row[1] - self._room.free.get(row[0], 0), row[0]))
        pool = self._shares.pool[kind]
        text = f"needs {amount} {kind}, {max(0, self._room.free.get(kind, 0))} of {pool} free"
        if line.max_tier is not None and self._room.has(demand):
            return f"{text}, but not in tier {line.max_tier} or better: --max_tier={line.max_tier + 1} would take more"
        if not self._shares.within(project, self._room.use_of(project), demand):
            return f"{text}; {self._over(project, demand)}"
        if kept := [ask.want for ask in self._kept if ask.want.demand.get(kind)]:
            return f"{text}, {_more([f'{want.project} ({_who(want)})' for want in kept])} is first in line"
        return f"{text}{self._holder(kind)}"

    def _over(self, project: str, demand: Demand) -> str:
        used, units = self._room.use_of(project), self._shares.units(project)
        governed = [(kind, amount) for kind, amount in demand if kind in self._shares.governed]
        rows = [(used.get(kind, 0), units.get(kind, 0), kind, amount) for kind, amount in governed]
        use, unit, kind, amount = max(rows, key=lambda row: (row[0] + row[3] - row[1], row[2]))
        if use > unit:
            return f"{project} is over its share ({use} of {unit} {kind}) and nothing is idle"
        return f"it would take {project} over its share ({use + amount} of {unit} {kind}) and nothing is idle"

    def _holder(self, kind: str) -> str:
        """Who holds most of a kind."""
        if kind not in self._holders:
            amounts = {project: used.get(kind, 0) for project, used in self._room.used.items()}
            project = max(sorted(amounts), key=lambda name: amounts[name], default="")
            rows = sorted((hold for hold in self._board.of.get(project, {}).values() if hold.demand.get(kind)), key=age)
            held = sum(hold.demand[kind] for hold in rows)
            self._holders[kind] = f"; {_names(rows)} holds {held}{self._lent(project, kind)}" if rows else ""
        return self._holders[kind]

    def _lent(self, project: str, kind: str) -> str:
        over = self._shares.borrowed(project, self._room.stays(project)).get(kind)
        return f", borrows {over}: may be reclaimed after {self._knobs.reclaim_delay_s:g} s" if over else ""


def _borrowed(project: str, over: Resources, units: Resources) -> str:
    kind, amount = max(over.items(), key=lambda row: (row[1], row[0]))
    return f"{project} borrowed {amount} {kind} over its share of {units.get(kind, 0)}"


def age(hold: Hold) -> tuple[datetime, int, str, int]:
    """The order of holds, oldest first, the same in whatever order they come."""
    return hold.since, hold.order, hold.job, hold.task


def _rank(row: Want | Hold) -> str:
    name = f"priority {row.priority}"
    return name if row.job_class == STANDARD else f"{CLASSES[row.job_class]}, {name}"


def _cheapest(taken: Taken) -> str:
    """Why this one, and what it costs."""
    among = f"the cheapest to stop of {taken.among}, " if taken.among > 1 else ""
    return f"; {among}it loses {_span(taken.lost_s)} of work"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _names(holds: Sequence[Hold]) -> str:
    """`nlp (alice/llm-1, +2 more)`: the first one's project, and how many there are besides."""
    return f"{holds[0].project} ({_more([_who(hold) for hold in holds])})" if holds else "others"


def _who(row: Want | Hold) -> str:
    return f"{row.user}/{row.job}"


def _more(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, +{len(names) - 1} more"


def _amounts(demand: Demand) -> str:
    return " and ".join(f"{amount} {kind}" for kind, amount in demand)
