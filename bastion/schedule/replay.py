"""Take recorded decisions again, with the code that takes them, and compare the answers bit for bit. Pure.

A decision depends on the fold of the journal up to its marker, and on where the runners placed each start. The starts
themselves record the latter.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import islice, takewhile

from bastion.quota.demand import Start

from ..journal.attempts import shape
from ..journal.fold import apply
from ..model.codec import encode
from ..model.state.state import Job, State
from ..model.stored.events import AnyEvent, Decided, Epoch, FileBroken, FileChanged, Started
from ..model.stored.journal_object import JournalObject
from . import decision_record, plan
from .runner_choice import places

_Shape = tuple[frozenset[tuple[str, int]], int, int]
"""The part of a start that decides its place: resources by kind, replicas, and the partition of its tier."""
_Place = tuple[JournalObject, int, AnyEvent]
"""An event with its journal object and its index there."""


class DecisionDifference(StrEnum):
    """How a repeated decision differs from the recorded one."""

    NONE = ""
    INPUTS = "the journal gives other inputs than the decision had"
    RECORD = "the journal holds another answer than was decided"
    ANSWER = "the same inputs give another answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatedDecision:
    """A recorded decision, taken again.

    seq: the number of the journal object that holds its marker.
    index: the position of the marker among the events of that object.
    now: the time at which it was decided.
    epoch: the epoch of the bastion that decided.
    version: the version of that bastion.
    marker: the recorded marker.
    written: the part of its answer that the journal holds. It is incomplete only if the bastion ended before the second
        object of a large tick.
    again: the decision as it is taken now.
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
        """Return how the two differ."""
        marker, again = self.marker, self.again.marker
        if (marker.waiting, marker.live) != (again.waiting, again.live):
            return DecisionDifference.INPUTS
        written = [encode(event) for event in self.written]
        if marker == again and written == [encode(event) for event in self.again.events[: len(written)]]:
            return DecisionDifference.NONE
        damaged = len(written) == marker.events and decision_record.digest(self.written) != marker.digest
        return DecisionDifference.RECORD if damaged else DecisionDifference.ANSWER


def replayed(state: State, records: Iterable[JournalObject], last: int) -> Iterator[RepeatedDecision]:
    """Yield each decision that is recorded up to journal object `last`. `records` continue where the state ends.

    When a decision is yielded, the state is the one that it was taken on. After that, the events that really happened
    are folded. Raises `BastionError` if the journal cannot be folded.
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
    state: State, inputs: plan.DecisionInputs, place: _Place, marker: Decided, written: tuple[AnyEvent, ...]
) -> RepeatedDecision:
    record, index, _ = place
    starting = [event for event in written if isinstance(event, Started)]
    partition_starts = places(state, inputs.config).partition_starts
    seats = {
        _shape(state.jobs[event.job], event.choice, event.tier, partition_starts): (event.runner, event.workers)
        for event in starting
    }
    now = marker.now or record.now

    def seat(job: Job, start: Start) -> decision_record.Seat:
        """Return the recorded place. Raises `LookupError` if the answer is whole and this start is not in it."""
        if (wanted := _shape(job, start.choice, start.tier, partition_starts)) not in seats and len(
            written
        ) == marker.events:
            raise LookupError(wanted)
        return seats.get(wanted, ("", wanted[1]))

    return RepeatedDecision(
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


def _shape(job: Job, choice: int, tier: int, partition_starts: Iterable[int]) -> _Shape:
    """Return what the place of a start depends on. Starts with the same shape have the same place."""
    wanted = shape(job, choice)
    return frozenset(wanted.resources.items()), wanted.replicas, sum(first <= tier for first in partition_starts)
