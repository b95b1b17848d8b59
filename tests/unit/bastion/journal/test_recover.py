"""The state comes back from the newest good snapshot and the journal after it, whatever else lies there."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bastion.journal import snapshot
from bastion.journal.recover import (
    PLAIN_BYTES_MAX,
    Snapshot,
    catch_up,
    events,
    load,
    newest_snapshot,
    objects,
    pack_snapshot,
    spec_of,
    unpack_snapshot,
)
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BastionError, BucketError, NewerVersion, RecordError
from bastion.model.state.state import State
from bastion.model.stored.events import CapacityChanged, JobRejected
from bastion.model.stored.journal_object import JournalObject
from bastion.model.version import SNAPSHOT
from bastion.stores.memory import MemoryBucket
from tests.support.doors import FaultyBucket, memory
from tests.support.world import NOON, World, spec


def grown(world: World, number: int) -> None:
    for size in range(number):
        world.happens(CapacityChanged(runner="local", resources={"v4": size + 1}))


def test_an_empty_bucket_is_a_fresh_state() -> None:
    assert encode(load(memory())) == encode(State())


def test_the_fold_of_the_journal_is_the_state() -> None:
    world = World()
    world.runs(world.submitted())
    assert encode(load(world.bucket)) == encode(world.journal.state)


def test_a_snapshot_shortens_the_journal_and_changes_nothing() -> None:
    world = World()
    world.runs(world.submitted())
    upto = snapshot.make(world.bucket)
    grown(world, 3)
    bucket = FaultyBucket(inner=world.bucket)
    assert encode(load(bucket)) == encode(world.journal.state)
    read = [key for verb, key in bucket.calls if verb == "read" and key.startswith(layout.JOURNAL)]
    assert read == [layout.journal(seq) for seq in range(upto, world.journal.state.seq)]


def _cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def _flipped(data: bytes) -> bytes:
    return data[:-3] + bytes([data[-3] ^ 1]) + data[-2:]


@pytest.mark.parametrize("damage", [_cut, _flipped, lambda data: b"", lambda data: b"rubbish"])
def test_a_damaged_snapshot_falls_back_to_the_one_before(damage: Callable[[bytes], bytes]) -> None:
    world = World()
    world.submitted()
    first = snapshot.make(world.bucket)
    grown(world, 2)
    newest = layout.snapshot(snapshot.make(world.bucket))
    world.bucket.write(newest, damage(world.bucket.read(newest).data))
    found = newest_snapshot(world.bucket)
    assert found is not None
    assert found.seq == first
    assert encode(load(world.bucket)) == encode(world.journal.state)


def test_without_any_good_snapshot_the_whole_journal_is_read() -> None:
    world = World()
    grown(world, 2)
    world.bucket.create(layout.snapshot(2), b"rubbish")
    world.bucket.create(f"{layout.SNAPSHOTS}notes.txt", b"mine")
    assert encode(load(world.bucket)) == encode(world.journal.state)


def test_a_newer_snapshot_says_upgrade() -> None:
    data = pack_snapshot(State())
    assert unpack_snapshot(data, "s").seq == 0
    import zstandard

    newer = zstandard.compress(encode(Snapshot(schema=SNAPSHOT + 1, state=State())))
    with pytest.raises(NewerVersion, match="upgrade"):
        unpack_snapshot(newer, "s")


_FRAME = b"\x28\xb5\x2f\xfd\xe0"  # one that says of how many bytes it is, in eight of them


def _endless() -> bytes:
    """A few bytes that hold 64 MiB, and do not say so."""
    import zstandard

    packer = zstandard.ZstdCompressor().compressobj()
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()


@pytest.mark.parametrize(
    "bomb", [_FRAME + (PLAIN_BYTES_MAX + 1).to_bytes(8, "little"), _FRAME + b"\xff" * 8, _endless()], ids=len
)
def test_a_snapshot_that_would_fill_the_memory_is_not_unpacked(bomb: bytes) -> None:
    world = World()
    grown(world, 2)
    world.bucket.create(layout.snapshot(2), bomb)
    tracemalloc.start()
    try:
        with pytest.raises(RecordError, match="is damaged: it holds"):
            unpack_snapshot(bomb, "it")
        assert encode(load(world.bucket)) == encode(world.journal.state), "the journal tells the same"
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_three_snapshots_are_kept() -> None:
    world = World()
    made = []
    for _ in range(5):
        grown(world, 1)
        made.append(layout.snapshot(snapshot.make(world.bucket)))
    assert [stat.key for stat in world.bucket.list(layout.SNAPSHOTS)] == made[-3:]


def test_a_snapshot_that_is_there_already_is_left_alone() -> None:
    world = World()
    key = layout.snapshot(snapshot.make(world.bucket))
    version = world.bucket.read(key).version
    assert snapshot.make(world.bucket) == world.journal.state.seq
    assert world.bucket.read(key).version == version


def test_the_journal_is_read_in_pages_and_in_order() -> None:
    world = World()
    grown(world, 200)
    widths = []

    def wide(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        widths.append(len(items))
        return [work(item) for item in items]

    assert [record.seq for record in objects(world.bucket, 3, wide)] == list(range(3, 201))
    assert max(widths) == 64


def test_events_come_with_their_number_and_time() -> None:
    world = World()
    grown(world, 2)
    assert [(seq, at) for seq, at, _ in events(world.bucket, 1)] == [(1, NOON), (2, NOON)]


@pytest.mark.parametrize("name", ["000000000000.json~", "notes.txt", "7.json", "٣.json", "000000000001.json.tmp"])
def test_a_strangers_file_beside_the_journal_is_left_alone(name: str) -> None:
    world = World()
    world.bucket.create(f"{layout.JOURNAL}{name}", b"mine")
    assert load(world.bucket).seq == 1
    catch_up(world.bucket, load(world.bucket))


class _Racing(MemoryBucket):
    """A listing that was taken while objects were written: it left one out."""

    left_out = ""

    def list(self, prefix: str, *, after: str = "") -> Any:
        return (stat for stat in super().list(prefix, after=after) if stat.key != self.left_out)


def test_a_listing_that_left_an_object_out_leaves_out_no_event() -> None:
    world = World()
    grown(world, 3)
    racing = _Racing(world.bucket.url)
    racing.left_out = layout.journal(2)
    assert encode(load(racing)) == encode(world.journal.state)


def test_a_gap_in_the_journal_is_an_error_that_names_the_object() -> None:
    world = World()
    grown(world, 3)
    world.bucket.delete([layout.journal(2)])
    with pytest.raises(RecordError, match="journal object 2 is missing"):
        load(world.bucket)


def test_an_object_under_a_wrong_number_is_an_error() -> None:
    bucket = memory()
    bucket.create(layout.journal(0), encode(JournalObject(seq=4, epoch=1, nonce="n", now=NOON, events=[])))
    with pytest.raises(BastionError, match="does not follow"):
        load(bucket)


@pytest.mark.parametrize("data", [b"", b"{}", b'{"seq": 0'])
def test_an_object_that_cannot_be_read_is_an_error_that_names_it(data: bytes) -> None:
    bucket = memory()
    bucket.create(layout.journal(0), data)
    with pytest.raises(RecordError, match="journal object 0"):
        load(bucket)


def test_a_read_that_fails_beside_others_is_raised() -> None:
    world = World()

    def beside(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        return [BucketError("away") for _ in items]

    with pytest.raises(BucketError, match="away"):
        load(world.bucket, beside)


def test_a_spec_is_found_in_the_journal() -> None:
    world = World()
    job = world.submitted(name="deep", command=["run", "me"])
    assert spec_of(world.bucket, world.journal.state.jobs[job]) == spec(name="deep", command=["run", "me"])


def test_the_spec_of_a_rejected_job_was_not_kept() -> None:
    world = World()
    world.happens(JobRejected(request="r", job="j-r", name="j", user="u", project="p", reason="no"))
    with pytest.raises(RecordError, match="was rejected"):
        spec_of(world.bucket, world.journal.state.jobs["j-r"])


def test_a_spec_that_is_not_there_is_an_error_that_names_the_job() -> None:
    world = World()
    job = world.journal.state.jobs[world.submitted()]
    for wrong in ((job.seq, 5), (99, 0)):
        job.seq, job.index = wrong
        with pytest.raises(RecordError, match=job.id):
            spec_of(world.bucket, job)
