"""What must hold of time, whatever the clocks of bastions and machines say: the store's own is the measure."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from bastion.events import AnyEvent, Lapsed, Started, Stopping
from bastion.objects import JournalObject
from bastion.records import Facts
from bastion.spec import JobSpec
from bastion.state import Cause, JobState
from worlds.broken import Broken
from worlds.kernel import START

AHEAD_S = 60.0
"""So far the time of the journal, or of a worker's word, may run ahead of the store's."""

SKEW = 0.02
"""The part by which a clock may run too fast or too slow."""


def written(record: JournalObject, wishes: Mapping[str, JobSpec], now: float, silent_s: float) -> None:
    """A journal object, at this time of the store's. Its writer wrote nothing for `silent_s`, and could ask for no time."""
    most = _at(now) + timedelta(seconds=AHEAD_S + SKEW * silent_s)
    if record.now > most:
        raise Broken(f"journal object {record.seq} is {record.now - _at(now)} ahead of the store's time")
    for event in record.events:
        _event(event, wishes, most)


def told(key: str, facts: Facts, now: float) -> None:
    """What a worker says of its times."""
    for moment in (facts.started, facts.ended):
        if moment is not None and moment > _at(now) + timedelta(seconds=AHEAD_S):
            raise Broken(f"{key} tells of {moment}, {moment - _at(now)} ahead of the store's time")


def _event(event: AnyEvent, wishes: Mapping[str, JobSpec], most: datetime) -> None:
    match event:
        case Started() if (begin := wishes[event.job].begin) and begin > most:
            raise Broken(f"{event.key} is started {begin - most} before it may begin, by the store's clock")
        case Stopping(cause=Cause.DEADLINE) | Lapsed(outcome=JobState.TIMEOUT):
            deadline = wishes[event.job].deadline
            if deadline is None or deadline > most:
                raise Broken(f"{event.job} is ended by its deadline before that, by the store's clock")


def _at(now: float) -> datetime:
    return START + timedelta(seconds=now)
