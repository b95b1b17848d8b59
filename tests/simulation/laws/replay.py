"""Law about decisions: each comes out the same, bit for bit, when it is taken again from the journal alone."""

from __future__ import annotations

from bastion.model import layout
from bastion.model.state.state import State
from bastion.model.stored.journal_object import unpack
from bastion.schedule.replay import DecisionDifference, replayed
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.store import Store


def replays(store: Store) -> int:
    """Take every decision again, and return how many there were. Raises `Broken`."""
    keys = sorted(key for key in store.objects if layout.is_journal(key))
    records = [unpack(store.objects[key][0], layout.seq_of(key)) for key in keys]
    count = 0
    for each in replayed(State(), records, len(records)):
        count += 1
        if each.difference is not DecisionDifference.NONE:
            told = f"{each.marker} and {each.written}, taken again {each.again}"
            raise Broken(f"the decision in journal object {each.seq} differs: {each.difference}: {told}")
    return count
