"""The account of pending tasks as lines for people: a word, and a text. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from bastion.model.durations import short
from bastion.model.wording import clock
from bastion.quota import resources
from bastion.quota.policy.reasons import part_of

from .forecast import EndingJob, ExpectedStart
from .queue_position import JobAhead, QueuePosition
from .remedies import Remedy
from .reservation import Reservation
from .start_estimate import StartEstimate
from .waiting import Holder, ResourceAmount, WaitingAccount
from .what_if_decision import DecisionEffect

SHOWN = 5
"""Most rows of a list that are shown."""

TOLD = ("after", "begin")
"""Obstacles that are not shown here, as the lines on timing show them."""

Line = tuple[str, str]


def waits(waiting: WaitingAccount, project: str, now: datetime) -> Iterator[Line]:
    """Yield what the job asks for, the jobs ahead, the holders, and what would have to happen."""
    for amount in waiting.amounts:
        yield "asks for", _amount(amount, project)
    if waiting.place:
        yield "place", _place(waiting.place, project)
    if waiting.overtaken:
        yield "overtaken", _overtaken(waiting, project)
    if waiting.reservation:
        yield "reserved", _reserved(waiting.reservation, project, now)
    for number, other in enumerate(waiting.ahead[:SHOWN], start=1):
        yield "ahead", f"{number}. {_ahead(other)}"
    yield from more("ahead", len(waiting.ahead))
    for holder in waiting.holders[:SHOWN]:
        yield "held by", _holder(holder, now)
    yield from more("held by", len(waiting.holders))
    if waiting.never:
        yield "never", waiting.never
    for row in waiting.excess:
        yield "share", row.text()
    for number, gate in enumerate(gate for gate in waiting.gates if gate.what not in TOLD):
        yield "and" if number else "needs", gate.text
    if waiting.outlook:
        yield from _outlook(waiting.outlook, now, gated=bool(waiting.gates))


def _outlook(outlook: StartEstimate, now: datetime, *, gated: bool) -> Iterator[Line]:
    if outlook.now and not (gated and outlook.expected):
        yield "then" if gated else "starts", f"the next decision {_does(outlook.now)}"
    if outlook.expected:
        yield "expected", _expected(outlook.expected, now)
    first = "then" if gated else "sooner" if outlook.expected else "needs"
    tried = [remedy for remedy in outlook.remedies if not (outlook.expected and remedy.what == "time")]
    for number, remedy in enumerate(tried):
        yield "or" if number else first, _remedy(remedy, now)
    if not (outlook.complete or outlook.now):
        yield "", f"other changes may help, too: the queue is long, so only {outlook.decisions} decisions were tried"
    elif not (outlook.now or outlook.expected or outlook.remedies or gated):
        yield first, f"more than one change: no single change that was tried starts it ({outlook.decisions} decisions)"


def _amount(amount: ResourceAmount, project: str) -> str:
    text = f"{amount.asked} {amount.kind}: {amount.free} of {amount.pool} free"
    if amount.freeing:
        text += f", {amount.freeing} being freed"
    text += f"; {project} uses {amount.used}" + ("" if amount.share is None else f" of its share of {amount.share}")
    return f"{text}, {amount.borrowed} of them borrowed" if amount.borrowed else text


def _place(place: QueuePosition, project: str) -> str:
    text = f"{place.place} of {place.of} that wait in {project}"
    return text if place.waiting == place.of else f"{text}, of {place.waiting} in all"


def _overtaken(waiting: WaitingAccount, project: str) -> str:
    """Say how far the job is from its right."""
    found, room = waiting.overtaken, waiting.reservation
    assert found is not None
    work = "ran" if found.of_all else "started"
    part = f"jobs of {project} behind it got {100 * found.part:.0f} % of what {project} {work} since it waits"
    text = f"for {part_of(found.overtaken_s, found.limit_s)}: {part}"
    if found.overtaken_s <= found.limit_s:
        return f"{text}; beyond that, {project} keeps room for it"
    return f"{text}; {project} keeps room for it after {room.user}/{room.job}" if room and not room.is_own else text


def _reserved(room: Reservation, project: str, now: datetime) -> str:
    """Say for which job room is kept, since when, and what that costs."""
    whose = "it"
    if not room.is_own:
        time = part_of(room.overtaken.overtaken_s, room.overtaken.limit_s)
        whose = f"{room.user}/{room.job}, overtaken for {time},"
    behind = f"{room.behind or 'no'} {'job' if room.behind == 1 else 'jobs'} of {project}"
    since, free = f"since about {clock(room.since, now)}", f"{room.free} of its {room.asked} {room.kind} free"
    text = f"{project} keeps room for {whose} {since}: {free}, and {behind} must wait until it has started"
    return text if room.is_own else f"{text}, {'this one too' if room.holds_back else 'but not this one'}"


def _ahead(row: JobAhead) -> str:
    tasks = f", {row.tasks} tasks" if row.tasks > 1 else ""
    return f"{row.user}/{row.job} asks for {resources.text(row.resources)}{tasks}: {row.why}"


def _holder(holder: Holder, now: datetime) -> str:
    who = f"{holder.project}: {holder.user}/{holder.job}" + (f"[{holder.task}]" if holder.task else "")
    text = f"{who} has {resources.text(holder.resources)} for {ago(holder.since, now)}"
    if holder.stopping:
        text += f", is being stopped{f' for {holder.for_job}' if holder.for_job else ''}"
    return f"{text}, until {clock(holder.until, now)}, at the latest" if holder.until else text


def _expected(expected: ExpectedStart, now: datetime) -> str:
    text = f"it starts by {clock(expected.at, now)}"
    if expected.stopping_at and expected.stopping_at > now:
        text = f"others are stopped for it at {clock(expected.stopping_at, now)}, and {text}"
    over = f", when {_some([_over(row) for row in expected.over])}" if expected.over else ""
    return f"{text}{over}, if nothing more important is submitted"


def _over(over: EndingJob) -> str:
    return f"{over.job} {'has stopped' if over.stopped else 'ends by its time limit'}"


def _remedy(remedy: Remedy, now: datetime) -> str:
    when = f"in {short((remedy.at - now).total_seconds())}" if remedy.at > now else "now"
    return f"{remedy.text} {_would(remedy.effect)} {when}{f': {remedy.how}' if remedy.how else ''}"


def _does(effect: DecisionEffect) -> str:
    """Say what the decision does: `starts it`."""
    return f"starts {_tasks(effect)}" if effect.tasks else f"stops {_some(effect.stops)} for it"


def _would(effect: DecisionEffect) -> str:
    """Say what the decision would do: `would start it`."""
    return f"would start {_tasks(effect)}" if effect.tasks else f"would stop {_some(effect.stops)} for it"


def _tasks(effect: DecisionEffect) -> str:
    return "it" if effect.tasks == 1 else f"{effect.tasks} of its tasks"


def _some(rows: Sequence[object]) -> str:
    return str(rows[0]) if len(rows) == 1 else f"{rows[0]} and {len(rows) - 1} more"


def more(word: str, number: int) -> Iterable[Line]:
    """Return the line that ends a list if not all of it is shown."""
    return [(word, f"and {number - SHOWN} more")] if number > SHOWN else []


def ago(then: datetime, now: datetime) -> str:
    """Return the time since then: `2h3m`."""
    return short((now - then).total_seconds())
