"""Recorded decisions, taken again by the code that takes them: on the same state, is it the same answer, bit for bit? Pure.

What a decision rests on is the fold of the journal up to its marker, and what was said of where an attempt goes, which stands
in the starts themselves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice, takewhile

from bastion.quota.demand import Start

from ..journal.fold import apply
from ..journal.task_counters import shape
from ..model.codec import encode
from ..model.state.state import Job, State
from ..model.stored.events import AnyEvent, Decided, Epoch, FileBroken, FileChanged, Started
from ..model.stored.journal_object import JournalObject
from . import decision_record, plan
from .runner_choice import places

_Shape = tuple[frozenset[tuple[str, int]], int, int]
_Place = tuple[JournalObject, int, AnyEvent]


class DecisionDifference(StrEnum):
    """In what a decision that was taken again differs from the one that was recorded."""

    NONE = ""
    INPUTS = "it rested on something else than the journal folds to"
    RECORD = "what the journal holds is not what was decided"
    ANSWER = "another answer to the same question"


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A decision of `version`, at its place in the journal. `written` is what the journal holds of its answer.

    That is less than all of it only if the bastion ended before the second object of a large tick.
    """

    seq: int
    index: int
    now: datetime
    epoch: int
    version: str
    marker: Decided
    written: tuple[AnyEvent, ...]
    again: decision_record.Decision

    @property
    def difference(self) -> DecisionDifference:
        """In what it differs."""
        marker, again = self.marker, self.again.marker
        if (marker.waiting, marker.live) != (again.waiting, again.live):
            return DecisionDifference.INPUTS
        written = [encode(event) for event in self.written]
        if marker == again and written == [encode(event) for event in self.again.events[: len(written)]]:
            return DecisionDifference.NONE
        damaged = len(written) == marker.events and decision_record.digest(self.written) != marker.digest
        return DecisionDifference.RECORD if damaged else DecisionDifference.ANSWER


def replayed(state: State, records: Iterable[JournalObject], last: int) -> Iterator[Replayed]:
    """Each decision that is recorded up to journal object `last`. `records` go on where the state stands.

    Whenever one is given, the state is what it was taken on; then what really happened is folded on.
    Raises `BastionError` if the journal cannot be folded.
    """
    tape, ahead = _places(records), deque[_Place]()
    inputs = plan.inputs(state)
    while (place := ahead.popleft() if ahead else next(tape, None)) and place[0].seq <= last:
        record, index, event = place
        state.seq, state.now = record.seq, record.now
        apply(state, event, record.seq, index)
        if isinstance(event, FileChanged | FileBroken):
            inputs = plan.inputs(state)
        elif isinstance(event, Decided):
            ahead.extend(islice(tape, max(0, event.events - len(ahead))))
            answer = islice((event for _, _, event in ahead), event.events)
            yield _again(
                state, inputs, place, event, tuple(takewhile(lambda each: not isinstance(each, Epoch), answer))
            )


def _places(records: Iterable[JournalObject]) -> Iterator[_Place]:
    return ((record, index, event) for record in records for index, event in enumerate(record.events))


def _again(
    state: State, inputs: plan.Inputs, place: _Place, marker: Decided, written: tuple[AnyEvent, ...]
) -> Replayed:
    record, index, _ = place
    starting = [event for event in written if isinstance(event, Started)]
    walls = places(state, inputs.config).walls
    seats = {
        _shape(state.jobs[event.job], event.choice, event.tier, walls): (event.runner, event.workers)
        for event in starting
    }
    now = marker.now or record.now

    def seat(job: Job, start: Start) -> decision_record.Seat:
        """As it was said; of one that did not start although its answer is whole, nobody could say it."""
        if (wanted := _shape(job, start.choice, start.tier, walls)) not in seats and len(written) == marker.events:
            raise LookupError(wanted)
        return seats.get(wanted, ("", wanted[1]))

    return Replayed(
        seq=record.seq,
        index=index,
        now=now,
        epoch=record.epoch,
        version=state.version,
        marker=marker,
        written=written,
        again=decision_record.decided(
            state, replace(inputs, blind=frozenset(marker.blind), rules=marker.rules), now, seat
        ),
    )


def _shape(job: Job, choice: int, tier: int, walls: Iterable[int]) -> _Shape:
    """What a seat depends on: starts that are alike in it have the same."""
    wanted = shape(job, choice)
    return frozenset(wanted.resources.items()), wanted.replicas, sum(wall <= tier for wall in walls)
