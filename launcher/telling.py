"""The account of a job as lines for people: a word, and what there is to say of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from launcher.account import Account, End, Pulse, Running
from launcher.durations import short
from launcher.waiting import Amount, Holder, Waiting
from quota import resources

SHOWN = 5
"""Of long lists, as many rows as people read."""

Line = tuple[str, str]


def told(account: Account, name: str, project: str, now: datetime) -> Iterator[Line]:
    """All there is to say."""
    if account.waiting:
        yield from _waiting(account.waiting, project, now)
    for row in account.running[:SHOWN]:
        yield from _running(row, now)
    yield from _more("running", len(account.running))
    if account.running:
        yield "log", f"launch logs {name}"
    if account.end:
        yield from _end(account.end)


def _waiting(waiting: Waiting, project: str, now: datetime) -> Iterator[Line]:
    for amount in waiting.amounts:
        yield "asks for", _amount(amount, project)
    for number, ahead in enumerate(waiting.ahead[:SHOWN], start=1):
        tasks = f", {ahead.tasks} tasks" if ahead.tasks > 1 else ""
        asks = resources.text(ahead.resources)
        yield "ahead", f"{number}. {ahead.user}/{ahead.job} asks for {asks}{tasks}, priority {ahead.priority}"
    yield from _more("ahead", len(waiting.ahead))
    for holder in waiting.holders[:SHOWN]:
        yield "held by", _holder(holder, now)
    yield from _more("held by", len(waiting.holders))
    if waiting.enough_at:
        yield (
            "until",
            f"{_clock(waiting.enough_at, now)} at the latest: then {waiting.enough_by} is over and enough is free",
        )
    for number, what in enumerate(waiting.helps):
        yield "or" if number else "needs", what


def _amount(amount: Amount, project: str) -> str:
    text = f"{amount.asked} {amount.kind}: {amount.free} of {amount.pool} free"
    if amount.freeing:
        text += f", {amount.freeing} being freed"
    text += f"; {project} uses {amount.used}" + ("" if amount.share is None else f" of its share of {amount.share}")
    return f"{text}, {amount.borrowed} of them borrowed" if amount.borrowed else text


def _holder(holder: Holder, now: datetime) -> str:
    who = f"{holder.project}: {holder.user}/{holder.job}" + (f"[{holder.task}]" if holder.task else "")
    text = f"{who} has {resources.text(holder.resources)} for {_ago(holder.since, now)}"
    if holder.stopping:
        text += f", is being stopped{f' for {holder.for_job}' if holder.for_job else ''}"
    return f"{text}, until {_clock(holder.until, now)} at the latest" if holder.until else text


def _running(row: Running, now: datetime) -> Iterator[Line]:
    hosts = ", ".join(row.machines[:SHOWN]) + (f" and {len(row.machines) - SHOWN} more" if row.machines[SHOWN:] else "")
    where = f" on {hosts}" if hosts else ", no worker seen yet"
    yield (
        "attempt",
        f"task {row.task} attempt {row.attempt}, {row.state}: {row.runner}{where} for {_ago(row.since, now)}",
    )
    if row.stopping:
        yield "stops", row.stopping
    if row.until:
        yield "until", f"{_clock(row.until, now)} at the latest"
    if row.pulse and (said := [part for part in _said(row.pulse, now) if part]):
        yield "says", ", ".join(said)


def _said(pulse: Pulse, now: datetime) -> Iterator[str]:
    yield f"step {pulse.step}" if pulse.step is not None else ""
    yield f"checkpoint {_ago(pulse.checkpoint_at, now)} ago" if pulse.checkpoint_at else ""
    yield f"last beat {_ago(pulse.beat, now)} ago" if pulse.beat else ""
    yield pulse.phase


def _end(end: End) -> Iterator[Line]:
    code = f", exit code {end.exit_code}" if end.exit_code is not None else ""
    if end.cause:
        yield "cause", f"{end.cause}{code}; {end.tries} of {end.max_tries} tries used up"
    if end.message:
        yield "said", end.message
    if end.advice:
        yield "to do", end.advice


def _more(word: str, number: int) -> Iterable[Line]:
    return [(word, f"and {number - SHOWN} more")] if number > SHOWN else []


def _ago(then: datetime, now: datetime) -> str:
    return short((now - then).total_seconds())


def _clock(moment: datetime, now: datetime) -> str:
    """`14:20 UTC (in 2h3m)`."""
    return f"{moment:%H:%M} UTC (in {short((moment - now).total_seconds())})"
