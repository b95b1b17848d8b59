"""The state at any moment of the past: from the snapshot before it, and the journal from there on.

Journal objects are never changed, and a snapshot is their fold. So what is found is what the bastion knew then.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from ..model.at_once import Map
from ..model.interfaces import Bucket
from ..model.state.state import State
from ..model.stored.events import Decided
from ..model.stored.gaps import Holes
from . import journal_reader, recover
from .snapshot import FAR

LONG = 2 * FAR
"""To fold more journal objects than that takes so long that people want to know why."""

LOOK_BACK = 1_024
"""Among so many journal objects a decision is looked for."""


def end(bucket: Bucket) -> int:
    """The number after the last journal object. Two list requests, and one more for each thousand objects without snapshot."""
    return recover.end(bucket, max(recover.snapshots(bucket), default=0))


def number_after(bucket: Bucket, moment: datetime, at_once: Map) -> int:
    """The number after the last journal object of this moment or before it; 0 if there is none."""
    return number_at(bucket, moment + timedelta(microseconds=1), at_once)


def number_at(bucket: Bucket, moment: datetime, at_once: Map) -> int:
    """The number of the first journal object of this moment or a later one; the number after the last if there is none."""
    return journal_reader.number_at(bucket, State(seq=end(bucket)), moment, at_once)


def state_below(bucket: Bucket, number: int, at_once: Map, holes: Holes, note: Callable[[str], None]) -> State:
    """The fold of all journal objects below this number, as far as they can be read.

    `note` is told if that takes long. Raises `BucketError`, `Newer`.
    """
    state = recover.newest_snapshot(bucket, upto=number) or State()
    if state.now:
        holes.passed(state.now)
    if number - state.seq > LONG:
        note(f"reading {number - state.seq:,} journal objects: no snapshot below number {number:,} is closer")
    journal_reader.fold_on(bucket, state, number, at_once, holes)
    return state


def decision_below(bucket: Bucket, number: int, at_once: Map) -> int | None:
    """The last journal object below this number that holds a decision; None if there is none among many.

    Raises `BucketError`, `RecordError`.
    """
    for below in range(number, max(0, number - LOOK_BACK), -recover.AT_ONCE):
        records = recover.objects(bucket, max(0, below - recover.AT_ONCE), at_once, below=below)
        found = [record.seq for record in records if any(isinstance(event, Decided) for event in record.events)]
        if found:
            return found[-1]
    return None
