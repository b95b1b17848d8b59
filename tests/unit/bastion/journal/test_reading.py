"""Those who only look read over gaps of the journal, and name them; those who decide refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from bastion.journal import journal_reader, recover, snapshot
from bastion.journal.recover import one_by_one
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import AccessDenied, BastionError, NewerVersion, RecordError
from bastion.model.interfaces import StoredObject
from bastion.model.state.state import JobState, State
from bastion.model.stored.events import CapacityChanged
from bastion.model.stored.journal_object import Gap, Gaps
from bastion.stores.memory import MemoryBucket
from tests.support.world import NOON, World


class Guarded(MemoryBucket):
    """A store that says 403 for some objects."""

    denied: frozenset[str] = frozenset()

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        if key in self.denied:
            raise AccessDenied(f"403 for {key}")
        return super().read(key, limit)


def world() -> World:
    """Objects 0: capacity; 1: job a; 2: it starts; 3: it is up; 4: job b. A second passes before each step."""
    made = World()
    for step in (
        lambda: made.submitted("a" * 32, name="a"),
        lambda: made.runs("a-aaaaaaaa"),
        lambda: made.submitted("b" * 32, name="b"),
    ):
        made.clock.now += 1
        step()
    return made


def look(bucket: MemoryBucket) -> tuple[State, list[Gap]]:
    gaps = Gaps()
    return journal_reader.load(bucket, one_by_one, gaps), gaps.found


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:40],
        lambda data: b"",
        lambda data: b"\xff\x00",
        lambda data: data.replace(b'"seq":2,', b'"seq":7,', 1),
    ],
)
def test_a_damaged_object_is_a_hole_and_the_rest_is_known(damage: Callable[[bytes], bytes]) -> None:
    there = world()
    key = layout.journal(2)
    there.bucket.write(key, damage(there.bucket.read(key).data))
    state, [hole] = look(there.bucket)
    assert (state.seq, state.jobs["a-aaaaaaaa"].state, "b-bbbbbbbb" in state.jobs) == (5, JobState.PENDING, True)
    assert (hole.first, hole.last) == (2, 2)
    assert (hole.after, hole.before) == (NOON + timedelta(seconds=1), NOON + timedelta(seconds=2))
    assert "journal object 2 cannot be read" in hole.problem
    with pytest.raises(BastionError, match=r"journal object [27]"):
        recover.load(there.bucket)


def test_what_is_left_of_a_cut_object_is_known() -> None:
    there = World()
    for number in range(2):
        there.journal.begin(there.clock.wall())
        for index in range(3):
            there.journal.add(CapacityChanged(runner=f"r{number}{index}", resources={}))
        there.journal.commit()
    data = there.bucket.read(layout.journal(1)).data
    there.bucket.write(layout.journal(1), data[:-10])
    state, [hole] = look(there.bucket)
    assert sorted(state.capacity) == ["local", "r00", "r01", "r10", "r11", "r12"]
    assert (hole.first, hole.after) == (1, NOON)


def test_one_spoilt_event_leaves_its_place_empty() -> None:
    there = World()
    jobs = [there.submitted("a" * 32, name="a")]
    there.journal.begin(there.clock.wall())
    data = there.bucket.read(layout.journal(1)).data
    head, event = data[:-2].split(b'"events":[')
    bad = event.replace(b'"request"', b'"requets"')
    good = event.replace(b"a-aaaaaaaa", b"c-cccccccc")
    there.bucket.write(layout.journal(1), head + b'"events":[' + bad + b",\n" + good + b"]}")
    state, [hole] = look(there.bucket)
    assert jobs[0] not in state.jobs
    assert (state.jobs["c-cccccccc"].index, hole.first) == (1, 1)


def test_what_may_not_be_read_or_is_gone_is_a_hole_and_neighbours_are_one() -> None:
    there = world()
    there.bucket.delete([layout.journal(1)])
    bucket = Guarded(there.bucket.url)
    bucket.denied = frozenset({layout.journal(2), layout.journal(4)})
    state, gaps = look(bucket)
    assert [(hole.first, hole.last) for hole in gaps] == [(1, 2), (4, 4)]
    assert "journal object 1 is missing" in gaps[0].problem
    assert "403" in gaps[1].problem
    assert gaps[1].before is None
    assert state.seq == 5
    bucket.denied = frozenset({layout.journal(0)})
    with pytest.raises(RecordError, match="journal object 0 cannot be read: 403"):
        recover.load(bucket)


def test_a_snapshot_that_is_newer_makes_a_hole_harmless() -> None:
    there = world()
    snapshot.make(there.bucket)
    there.bucket.delete([layout.journal(2)])
    there.submitted("c" * 32, name="c")
    state, gaps = look(there.bucket)
    assert gaps == []
    assert encode(state) == encode(there.journal.state) == encode(recover.load(there.bucket))


def test_if_nothing_can_be_read_that_is_an_error_and_no_empty_queue() -> None:
    there = world()
    bucket = Guarded(there.bucket.url)
    bucket.denied = frozenset(layout.journal(number) for number in range(9))
    with pytest.raises(RecordError, match="journal object 0 cannot be read: 403"):
        look(bucket)


def test_a_newer_version_is_no_hole() -> None:
    there = world()
    key = layout.journal(2)
    there.bucket.write(key, there.bucket.read(key).data.replace(b'"schema":2', b'"schema":3', 1))
    with pytest.raises(NewerVersion, match="upgrade"):
        look(there.bucket)


def test_a_reader_that_looks_again_remembers_its_holes() -> None:
    there = world()
    there.bucket.delete([layout.journal(2)])
    reader = there.reader()
    before = reader.look()
    there.submitted("c" * 32, name="c")
    after = reader.look()
    assert before.gaps == after.gaps != ()
    assert "c-cccccccc" in after.state.jobs
