"""Why a job waits and why it is stopped: one line each, with names and numbers. Pure.

The first waiting want of a project and shape gets the whole story; those behind it are told who is ahead, in words
that are made once for each shape, because a hundred thousand jobs may wait for the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from quota.claims import Hold, Want
from quota.line import Ask
from quota.resources import Resources
from quota.room import Room
from quota.shares import Demand, Shares


def reclaimed(victim: Hold, want: Want, over: Resources, units: Resources) -> str:
    """Why an attempt is stopped for a want; `over` is what its project borrowed before."""
    who = f"{want.project}/{want.job} ({want.user})"
    if victim.project == want.project:
        return f"stopped for {who}: priority {want.priority} goes before {victim.priority}"
    return f"reclaimed for {who}: {_borrowed(victim.project, over, units)}"


def shrunk(victim: Hold, over: Resources, units: Resources) -> str:
    """Why an attempt is stopped for nobody's sake."""
    return f"the pool shrank: {_borrowed(victim.project, over, units)}"


def impossible(demand: Demand, pool: Resources) -> str | None:
    """Why a demand can never be met, however long it waits; None if it can."""
    for kind, amount in demand:
        held = pool.get(kind, 0)
        if not held:
            return f"kind {kind} is in no pool"
        if amount > held:
            return f"asks for {amount} {kind} but the pool holds {held}: it can never start"
    return None


def remedies(
    project: str,
    demand: Demand,
    *,
    shares: Shares,
    used: Resources,
    free: Resources,
    reclaim_in_s: float,
) -> Iterable[str]:
    """What would have to be otherwise for a demand to start; one line each."""
    if never := impossible(demand, shares.pool):
        yield f"{never}; ask for less, or have the pool enlarged"
        return
    lack = tuple((kind, amount - max(0, free.get(kind, 0))) for kind, amount in demand if amount > free.get(kind, 0))
    if not lack:
        return
    yield f"{_amounts(lack)} more free"
    units = shares.units(project)
    for kind, amount in demand:
        needed, unit = used.get(kind, 0) + amount, units.get(kind, 0)
        if kind in shares.governed and needed > unit:
            yield f"a share of {needed} {kind} for {project}, which has {unit} of {shares.pool[kind]}: then borrowers make room"
    if shares.governed and shares.within(project, used, demand) and reclaim_in_s:
        yield f"{reclaim_in_s:.0f} s more of waiting: it is within its share, and borrowers then make room"


class Reasons:
    """The reasons of one round, asked for when all is decided."""

    def __init__(self, holds: Sequence[Hold], room: Room, shares: Shares, delay_s: float) -> None:
        self._room, self._shares, self._delay_s = room, shares, delay_s
        self._holds = sorted(holds, key=lambda hold: (hold.since, hold.order, hold.job, hold.task))
        self._holders: dict[str, str] = {}
        self._texts: dict[tuple[str, Demand], str] = {}
        self._freed: dict[tuple[str, ...], str] = {}
        self.kept: list[Ask] = []
        self.stopping = [hold for hold in holds if hold.stopping]

    def of_project(self, asks: Sequence[Ask]) -> Iterable[tuple[str, str]]:
        """(job, reason) of the waiting wants of one project, given in the order in which they were considered."""
        ahead = ""
        for number, ask in enumerate(asks):
            text = self._text(ask)
            if number:
                text = f"{number} {'job' if number == 1 else 'jobs'} of {ask.want.project} ahead ({ahead}); {text}"
            if number < 2:
                ahead += f"{', ' if ahead else ''}{_who(ask.want)}"
            yield ask.want.job, text

    def kept_for(self, ask: Ask) -> str:
        """The reason of a want for which room is kept."""
        kinds = tuple(kind for kind, _ in ask.demand)
        if kinds not in self._freed:
            rows = [hold for hold in self.stopping if any(hold.demand.get(kind) for kind in kinds)]
            self._freed[kinds] = _names(rows)
        return f"first in line: waiting for {_amounts(ask.demand)} being freed by {self._freed[kinds]}"

    def _text(self, ask: Ask) -> str:
        key = (ask.want.project, ask.demand)
        if key not in self._texts:
            self._texts[key] = self._story(ask)
        return self._texts[key]

    def _story(self, ask: Ask) -> str:
        project = ask.want.project
        kind, amount = max(ask.demand, key=lambda row: (row[1] - self._room.free.get(row[0], 0), row[0]))
        pool = self._shares.pool[kind]
        text = f"needs {amount} {kind}, {max(0, self._room.free.get(kind, 0))} of {pool} free"
        if not self._shares.within(project, self._room.used[project], ask.demand):
            return f"{text}; {self._over(project, ask.demand)}"
        if kept := [other.want for other in self.kept if other.want.demand.get(kind)]:
            return f"{text}, {_more([f'{want.project} ({_who(want)})' for want in kept])} is first in line"
        return f"{text}{self._holder(kind)}"

    def _over(self, project: str, demand: Demand) -> str:
        used, units = self._room.used[project], self._shares.units(project)
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
            rows = [hold for hold in self._holds if hold.project == project and hold.demand.get(kind)]
            held = sum(hold.demand[kind] for hold in rows)
            self._holders[kind] = f"; {_names(rows)} holds {held}{self._lent(project, kind)}" if rows else ""
        return self._holders[kind]

    def _lent(self, project: str, kind: str) -> str:
        over = self._shares.borrowed(project, self._room.staying[project]).get(kind)
        return f", borrows {over}: may be reclaimed after {self._delay_s:g} s" if over else ""


def _borrowed(project: str, over: Resources, units: Resources) -> str:
    kind, amount = max(over.items(), key=lambda row: (row[1], row[0]))
    return f"{project} borrowed {amount} {kind} over its share of {units.get(kind, 0)}"


def _names(holds: Sequence[Hold]) -> str:
    """`nlp (alice/llm-1, +2 more)`: the first one's project, and how many there are besides."""
    return f"{holds[0].project} ({_more([_who(hold) for hold in holds])})" if holds else "others"


def _who(row: Want | Hold) -> str:
    return f"{row.user}/{row.job}"


def _more(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]}, +{len(names) - 1} more"


def _amounts(demand: Demand) -> str:
    return " and ".join(f"{amount} {kind}" for kind, amount in demand)
