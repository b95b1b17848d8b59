"""Find the state at any moment of the past: a snapshot before it, and the journal from there on.

Journal objects never change, and a snapshot is their fold. So the result is what the bastion knew at that moment.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from ..model.interfaces import Bucket, Map
from ..model.state.state import State
from ..model.stored.events import Decided
from ..model.stored.journal_object import Gaps
from . import journal_reader, recover
from .snapshot import FAR

LONG = 2 * FAR
"""Folding more journal objects than this takes so long that the user gets a note."""

LOOK_BACK = 1_024
"""A decision is looked for among this many journal objects."""


def end(bucket: Bucket) -> int:
    """Return the number after the last journal object.

    It costs two list requests, and one more for each thousand objects after the last snapshot.
    """
    return recover.end(bucket, max(recover.snapshots(bucket), default=0))


def number_after(bucket: Bucket, moment: datetime, at_once: Map) -> int:
    """Return the number after the last journal object at or before this moment; 0 if there is none."""
    return number_at(bucket, moment + timedelta(microseconds=1), at_once)


def number_at(bucket: Bucket, moment: datetime, at_once: Map) -> int:
    """Return the number of the first journal object at or after this moment, or the number after the last object."""
    return journal_reader.number_at(bucket, State(seq=end(bucket)), moment, at_once)


def state_below(bucket: Bucket, number: int, at_once: Map, gaps: Gaps, note: Callable[[str], None]) -> State:
    """Return the fold of all journal objects below this number, as far as they can be read.

    `note` is called with a text if that takes long. Raises `BucketError`, `NewerVersion`.
    """
    state = recover.newest_snapshot(bucket, upto=number) or State()
    if state.now:
        gaps.passed(state.now)
    if number - state.seq > LONG:
        note(f"reading {number - state.seq:,} journal objects: no snapshot below number {number:,} is closer")
    journal_reader.fold_on(bucket, state, number, at_once, gaps)
    return state


def decision_below(bucket: Bucket, number: int, at_once: Map) -> int | None:
    """Return the number of the last journal object below `number` that holds a decision.

    None if the last `LOOK_BACK` objects hold none. Raises `BucketError`, `RecordError`.
    """
    for below in range(number, max(0, number - LOOK_BACK), -recover.AT_ONCE):
        records = recover.objects(bucket, max(0, below - recover.AT_ONCE), at_once, below=below)
        found = [record.seq for record in records if any(isinstance(event, Decided) for event in record.events)]
        if found:
            return found[-1]
    return None
