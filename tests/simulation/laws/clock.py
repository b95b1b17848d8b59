"""Laws about time: the store's clock is right, whatever the clocks of bastions and machines say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import AnyEvent, Epoch, Lapsed, Started, Stopping
from bastion.model.stored.journal_object import JournalObject
from bastion.model.stored.records import ClockNote, Facts
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.kernel import START

AHEAD_S = 60.0
"""How many seconds the times in the journal and in facts may be ahead of the store's time."""

SKEW = 0.02
"""The fraction by which a clock may run too fast or too slow."""


@dataclass(slots=True)
class ClockLaws:
    """Keeps the last two times at which each process asked for the store's time, and the process of each epoch."""

    asked: dict[int, list[float]] = field(default_factory=dict)
    pids: dict[int, int] = field(default_factory=dict)

    def asks(self, note: ClockNote, now: float) -> None:
        """Note that a process asks for the store's time, by a write."""
        self.asked[note.pid] = [*self.asked.get(note.pid, [])[-1:], now]

    def written(self, record: JournalObject, wishes: Mapping[str, JobSpec], now: float) -> None:
        """Check a journal object, at this time of the store. Its writer may not know the newest answer yet."""
        self.pids |= {event.epoch: event.pid for event in record.events if isinstance(event, Epoch)}
        asked = self.asked.get(self.pids.get(record.epoch, -1), [now])
        most = _at(now) + timedelta(seconds=AHEAD_S + SKEW * (now - asked[0]))
        if record.now > most:
            raise Broken(f"journal object {record.seq} is {record.now - _at(now)} ahead of the store's time")
        for event in record.events:
            _event(event, wishes, most)


def told(key: str, facts: Facts, now: float) -> None:
    """Check the times that a worker reports."""
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
