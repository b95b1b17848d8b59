"""The journal can tell that it was cut or changed, whatever is lost; and an admin can go on without."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bastion.journal import journal_reader, lost_tail, recover, snapshot
from bastion.journal.recover import one_by_one
from bastion.journal.verify import JournalCheck, walk
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BastionError, JournalEndLost, LeadershipLost, RecordError
from bastion.model.interfaces import AttemptKey, Bucket
from bastion.model.state.state import JobState, State
from bastion.model.stored.events import AttemptLost, CapacityChanged, Epoch, Started
from bastion.model.stored.journal_object import Gaps, digest, unpack
from bastion.model.stored.records import ORDER_BYTES_MAX, Claim
from bastion.platform.system import RandomIds
from bastion.stores.memory import MemoryBucket
from tests.support.town import Town
from tests.support.world import HandClock, World

ROW_6 = {
    "units": (b'"v4":4', b'"v4":7'),
    "command": (b'"me"', b'"mE"'),
    "user": (b'"user":"alice"', b'"user":"mallo"'),
}


def edit(bucket: Bucket, seq: int, old: bytes, new: bytes) -> None:
    """A valid edit of one object."""
    data = bucket.read(layout.journal(seq)).data
    assert old in data
    bucket.write(layout.journal(seq), data.replace(old, new))
    unpack(bucket.read(layout.journal(seq)).data, seq)


def cut(bucket: Bucket, count: int) -> None:
    """The newest objects of the journal are lost."""
    bucket.delete([stat.key for stat in bucket.list(layout.JOURNAL)][-count:])


def empty(bucket: Bucket) -> None:
    for prefix in (layout.JOURNAL, layout.SNAPSHOTS):
        bucket.delete([stat.key for stat in bucket.list(prefix)])


def at_work(*, blind_first: bool = False) -> tuple[Town, AttemptKey]:
    """A bastion with a running job, whose end is known to `status.json`. `blind_first`: it starts long after it came."""
    town = Town()
    town.runner.blind = blind_first
    town.ticks(2)
    job = town.submits(name="train", command=["train", "me"], resources={"v4": 4})
    town.ticks(2)
    town.runner.blind = False
    town.ticks(20 if blind_first else 2)
    key = town.runs(job)
    town.ticks(6)
    return town, key


def stored(town: Town) -> MemoryBucket:
    assert isinstance(town.bucket.inner, MemoryBucket)
    return town.bucket.inner


def accepted(town: Town) -> int:
    found = lost_tail.survey(stored(town), one_by_one)
    return lost_tail.accept(stored(town), town.clock, RandomIds(), found, user="root", host="h", pid=9)


# Digests


def test_each_object_holds_the_digest_of_the_one_before_and_the_status_that_of_the_last() -> None:
    town, _ = at_work()
    data = [stored(town).read(stat.key).data for stat in stored(town).list(layout.JOURNAL)]
    records = [unpack(each, number) for number, each in enumerate(data)]
    assert [record.prev for record in records] == ["", *map(digest, data[:-1])]
    assert (town.status().seq, town.status().head) == (len(data), digest(data[-1]))
    upto = snapshot.make(stored(town))
    state = recover.newest_snapshot(stored(town))
    assert state is not None
    assert (state.seq, state.head, state.chained) == (upto, digest(data[-1]), True)


def test_blanks_that_a_store_adds_do_not_count() -> None:
    town, _ = at_work()
    for stat in list(stored(town).list(layout.JOURNAL)):
        stored(town).write(stat.key, stored(town).read(stat.key).data + b" \t" * 48)
    assert walk(stored(town), one_by_one).problem == ""
    town.begin()


@pytest.mark.parametrize("what", ROW_6)
def test_a_valid_edit_is_named_by_all_who_read(what: str) -> None:
    town, key = at_work()
    seq = town.job(key.job).seq
    edit(stored(town), seq, *ROW_6[what])
    changed = f"journal object {seq} was changed"
    for read in (lambda: recover.load(stored(town)), lambda: list(recover.objects(stored(town), 0)), town.begin):
        with pytest.raises(RecordError, match=changed):
            read()
    assert changed in walk(stored(town), one_by_one).problem
    assert changed in lost_tail.survey(stored(town), one_by_one).problems[0]
    gaps = Gaps()
    assert key.job in journal_reader.load(stored(town), one_by_one, gaps).jobs, "who only looks goes on"
    assert [(hole.first, changed in hole.problem) for hole in gaps.found] == [(seq, True)]


def test_an_object_whose_own_digest_was_removed_is_named() -> None:
    town, _ = at_work()
    data = stored(town).read(layout.journal(2)).data
    stored(town).write(layout.journal(2), data.replace(unpack(data, 2).prev.encode(), b""))
    with pytest.raises(RecordError, match="journal object 2 was changed: it holds no digest"):
        recover.load(stored(town))


def test_an_edit_of_the_last_object_is_known_by_the_status() -> None:
    town, _ = at_work()
    last = town.bastion.journal.state.seq - 1
    data = stored(town).read(layout.journal(last)).data
    stored(town).write(layout.journal(last), data.replace(b'"nonce":"', b'"nonce":"x'))
    assert recover.load(stored(town)).seq == last + 1
    with pytest.raises(JournalEndLost, match=r"status\.json records digest [0-9a-f]{12} for object \d+, which has"):
        town.begin()
    assert f"object {last} was changed" in walk(stored(town), one_by_one).problem


def test_an_edit_below_a_snapshot_changes_no_state_and_no_order_and_the_walk_finds_it() -> None:
    town = Town()
    town.runner.blind = True
    town.ticks(2)
    job = town.submits(name="train", command=["train", "me"], resources={"v4": 4})
    town.ticks(6)
    seq = town.job(job).seq
    snapshot.make(stored(town))
    edit(stored(town), seq, *ROW_6["command"])
    town.runner.blind = False
    town.bastion = town.begin()
    town.ticks(20)
    assert town.job(job).state is JobState.PROVISIONING
    assert not list(stored(town).list(layout.ATTEMPTS)), "the changed command is ordered of nobody"
    assert any(f"journal object {seq} was changed" in text for text in town.bastion.problems.values())
    assert f"journal object {seq} was changed" in walk(stored(town), one_by_one).problem


# Old journals


def without_digests(world: World) -> Bucket:
    """The journal as a version of before wrote it."""
    for stat in list(world.bucket.list(layout.JOURNAL)):
        record = json.loads(world.bucket.read(stat.key).data)
        record.pop("prev", None)
        world.bucket.write(stat.key, encode({**record, "schema": 1, "version": "0.1.0a1"}))
    return world.bucket


def test_an_old_journal_is_read_and_the_chain_begins_at_the_first_object_that_has_a_digest() -> None:
    world = World()
    world.runs(world.submitted())
    old = without_digests(world)
    state = recover.load(old)
    assert (state.seq, state.chained) == (world.journal.state.seq, False)
    world.journal.state.head, world.journal.state.chained = state.head, False
    for _ in range(2):
        world.happens(CapacityChanged(runner="local", resources={"v4": 9}))
    assert recover.load(old).chained
    found = walk(old, one_by_one)
    assert (found.problem, found.chain) == ("", state.seq)
    edit(old, state.seq - 1, b'"event"', b'"event" ')
    with pytest.raises(RecordError, match=f"journal object {state.seq - 1} was changed"):
        recover.load(old)


# A begin refuses


@pytest.mark.parametrize("count", [1, 3])
def test_a_lost_end_refuses_the_next_begin_and_nothing_is_written_or_deleted(count: int) -> None:
    town, _ = at_work()
    cut(stored(town), count)
    before = {stat.key: stat.version for stat in stored(town).list("")}
    town.runner.calls.clear()
    with pytest.raises(JournalEndLost, match=r"status\.json records it up to object"):
        town.begin()
    assert {stat.key: stat.version for stat in stored(town).list("")} == before
    assert town.runner.calls == []


@pytest.mark.parametrize("left", [layout.STATUS, layout.ATTEMPTS, layout.CLAIMS])
def test_an_emptied_journal_refuses_a_begin_whatever_is_left(left: str) -> None:
    town, _ = at_work()
    empty(stored(town))
    others = [layout.STATUS, layout.ATTEMPTS, layout.CLAIMS]
    gone = [stat.key for prefix in others if prefix != left for stat in stored(town).list(prefix)]
    stored(town).delete(gone)
    with pytest.raises(JournalEndLost, match=f"the journal is empty, and .*{left.split('.')[0]}"):
        town.begin()


def test_a_restore_of_everything_but_the_orders_refuses_too() -> None:
    town, key = at_work()
    kept = {stat.key: stored(town).read(stat.key).data for stat in stored(town).list("")}
    other = town.submits(name="later")
    town.ticks(8)
    for key_, data in kept.items():
        stored(town).write(key_, data)
    cut(stored(town), town.bastion.journal.state.seq - sum(name.startswith(layout.JOURNAL) for name in kept))
    with pytest.raises(JournalEndLost, match=f"attempts/{other}/0/0/order.json names an attempt"):
        town.begin()
    assert key.job in recover.load(stored(town)).jobs


def test_a_status_that_knows_another_object_further_back_refuses() -> None:
    """The end was lost, and somebody who had read before that went on."""
    town, _ = at_work()
    known = stored(town).read(layout.STATUS).data
    cut(stored(town), 1)
    stored(town).delete([layout.STATUS])
    town.bastion = town.begin()
    town.ticks(3)
    stored(town).write(layout.STATUS, known)
    with pytest.raises(JournalEndLost, match=r"status\.json records digest [0-9a-f]{12} for object \d+, which has"):
        town.begin()


def test_a_snapshot_that_goes_further_than_the_journal_refuses_it() -> None:
    town, _ = at_work()
    upto = snapshot.make(stored(town))
    cut(stored(town), 2)
    stored(town).delete([layout.STATUS])
    with pytest.raises(JournalEndLost, match=f"{upto:012d}.json.zst was made of object {upto - 1}"):
        town.begin()


def test_a_status_that_lags_and_a_claim_that_comes_late_are_no_loss() -> None:
    town, _ = at_work()
    status = stored(town).read(layout.STATUS).data
    town.submits(name="more")
    town.ticks(1)
    stored(town).write(layout.STATUS, status)
    claim = Claim(machine="m", nonce="n")
    stored(town).create(layout.claim(AttemptKey("nobody-00000000", 0, 7), 0), encode(claim))
    assert town.begin().journal.epoch == 2


def test_after_a_purge_a_bastion_of_the_same_name_begins() -> None:
    town, _ = at_work()
    kept = snapshot.end_for_good(stored(town))
    stored(town).delete([stat.key for stat in stored(town).list("") if stat.key not in kept])
    first = town.begin().journal
    assert first.state.seq == recover.load(stored(town)).seq
    assert town.begin().journal.epoch == first.epoch + 1
    assert walk(stored(town), one_by_one).problem == ""
    stored(town).delete([kept[0]])
    empty(stored(town))
    with pytest.raises(JournalEndLost, match="epoch"):
        town.begin()


# At work


def test_a_bastion_whose_journal_loses_its_end_says_so_and_ends() -> None:
    town, _ = at_work()
    cut(stored(town), 1)
    with pytest.raises(JournalEndLost, match="was written and is gone") as lost:
        town.ticks(30)
    town.bastion.give_up(lost.value)
    status = town.status()
    assert status.state == "stopped"
    assert any("journal object" in problem for problem in status.problems)
    with pytest.raises(JournalEndLost):
        town.begin()


def test_a_gap_is_seen_by_a_bastion_that_has_written_behind_it() -> None:
    town, _ = at_work()
    town.ticks(30)  # it has looked
    cut(stored(town), 1)
    town.submits(name="next", command=["true"], resources={"v4": 1})
    with pytest.raises(JournalEndLost, match="was written and is gone"):
        town.ticks(30)


def test_another_object_under_the_number_of_the_newest_is_seen() -> None:
    """A second bastion that was about to begin at the loss writes the number again."""
    town, _ = at_work()
    town.ticks(30)
    newest = layout.journal(town.bastion.journal.end[0] - 1)
    other = stored(town).read(newest).data.replace(b"train", b"other")
    stored(town).delete([newest])
    stored(town).create(newest, other)
    with pytest.raises(JournalEndLost, match="is not what this bastion wrote"):
        town.ticks(30)


def test_one_whose_journal_was_purged_is_deposed() -> None:
    town, _ = at_work()
    kept = snapshot.end_for_good(stored(town))
    stored(town).delete([stat.key for stat in stored(town).list("") if stat.key not in kept])
    with pytest.raises(LeadershipLost):
        town.ticks(30)


# Go on without


def test_nothing_is_lost_of_a_whole_journal() -> None:
    town, _ = at_work()
    assert lost_tail.survey(stored(town), one_by_one).is_nothing


def test_an_accepted_loss_gives_no_number_again() -> None:
    town, key = at_work(blind_first=True)
    ends = town.bastion.journal.state.seq
    begun = next(
        record.seq
        for record in recover.objects(stored(town), 0)
        if any(isinstance(event, Started) for event in record.events)
    )
    cut(stored(town), ends - begun)
    assert lost_tail.survey(stored(town), one_by_one).attempts == {(key.job, 0): 1}
    number = accepted(town)
    assert number > ends
    town.runner.machines.clear()
    town.bastion = town.begin()
    town.ticks(3)
    events = [event for record in recover.objects(stored(town), number) for event in record.events]
    assert [event.epoch for event in events if isinstance(event, Epoch)] == [2, 3]
    again = [event.attempt for event in events if isinstance(event, Started)]
    lost = [event.attempt for event in events if isinstance(event, AttemptLost)]
    assert (lost, again) == ([0], [1])
    found = walk(stored(town), one_by_one)
    assert (found.problem, found.accepted) == ("", ((begun, number - 1),))
    assert lost_tail.survey(stored(town), one_by_one).is_nothing


def test_of_an_emptied_journal_the_lost_jobs_are_shown_as_rejected_and_a_begin_works() -> None:
    town, key = at_work()
    empty(stored(town))
    assert list(lost_tail.survey(stored(town), one_by_one).jobs) == [key.job]
    accepted(town)
    town.bastion = town.begin()
    assert town.job(key.job).state is JobState.REJECTED
    assert "lost with the end of the journal; submit it again" in town.job(key.job).reason
    assert town.bastion.journal.epoch == 3
    assert town.begin().journal.epoch == 4, "and so does the next"


@pytest.mark.parametrize("damage", [b'{"schema":1,"na', b"x" * (ORDER_BYTES_MAX + 1)])
def test_a_lost_job_whose_order_is_damaged_keeps_nobody_from_going_on(damage: bytes) -> None:
    town, key = at_work()
    empty(stored(town))
    stored(town).write(layout.order(key), damage)
    assert lost_tail.survey(stored(town), one_by_one).jobs == {key.job: None}
    accepted(town)
    town.bastion = town.begin()
    assert (town.job(key.job).state, town.job(key.job).name) == (JobState.REJECTED, key.job.rpartition("-")[0])


def test_an_attempt_that_was_live_ends_where_a_later_one_was_begun() -> None:
    town, key = at_work()
    stored(town).create(layout.order(AttemptKey(key.job, 0, 1)), stored(town).read(layout.order(key)).data)
    found = lost_tail.survey(stored(town), one_by_one)
    assert found.attempts == {(key.job, 0): 2}
    accepted(town)
    town.bastion = town.begin()
    attempts = town.job(key.job).tasks[0].attempts
    assert [attempt.reason for attempt in attempts[:2]] == [lost_tail.GONE, lost_tail.GONE]
    assert not any(attempt.state != "ENDED" and attempt.number < 2 for attempt in attempts)


def test_a_claim_that_no_bastion_can_have_caused_is_refused_and_not_counted_up_to() -> None:
    town, key = at_work()
    stored(town).create(layout.claim(AttemptKey(key.job, 0, 900_000_000), 0), encode(Claim(machine="m", nonce="n")))
    assert lost_tail.survey(stored(town), one_by_one).is_nothing, "a worker's word alone"
    cut(stored(town), 1)
    with pytest.raises(BastionError, match="cannot exist; remove this object"):
        accepted(town)


@pytest.mark.parametrize("falls_at", [0, 1, 2])
def test_a_fall_while_a_loss_is_accepted_leaves_nothing_to_begin_on_and_is_done_once_more(falls_at: int) -> None:
    town, _ = at_work()
    cut(stored(town), 2)

    class Falls(MemoryBucket):
        writes = 0

        def _falls(self) -> None:
            if self.writes == falls_at:
                raise ZeroDivisionError
            self.writes += 1

        def write(self, key: str, data: bytes) -> str:
            self._falls()
            return super().write(key, data)

        def create(self, key: str, data: bytes) -> str | None:
            self._falls()
            return super().create(key, data)

    falls, clock = Falls(stored(town).url), HandClock()
    with pytest.raises(ZeroDivisionError):
        lost_tail.accept(falls, clock, RandomIds(), lost_tail.survey(falls, one_by_one), user="root", host="h", pid=9)
    with pytest.raises(JournalEndLost):
        town.begin()
    accepted(town)
    town.begin()


# The walk


def test_the_walk_names_the_first_object_that_is_missing_and_what_is_whole() -> None:
    town, _ = at_work()
    ends = town.bastion.journal.state.seq
    snapshot.make(stored(town))
    assert _brief(walk(stored(town), one_by_one)) == (ends, 0, 1, "")
    stored(town).delete([layout.journal(1)])
    found = walk(stored(town), one_by_one)
    assert (found.objects, "journal object 1 is missing" in found.problem) == (1, True)
    recover.load(stored(town))


def test_the_walk_knows_that_the_first_objects_are_missing() -> None:
    town, _ = at_work()
    snapshot.make(stored(town))
    stored(town).delete([layout.journal(0), layout.journal(1)])
    assert "journal object 1 is missing, but object 2 names its digest" in walk(stored(town), one_by_one).problem


def test_the_walk_holds_snapshots_against_the_objects() -> None:
    town, _ = at_work()
    upto = snapshot.make(stored(town))
    state = recover.newest_snapshot(stored(town))
    assert isinstance(state, State)
    state.head = "0" * 64
    stored(town).write(layout.snapshot(upto), recover.pack_snapshot(state))
    stored(town).delete([layout.STATUS])
    assert f"but {layout.snapshot(upto)} records 000000000000" in walk(stored(town), one_by_one).problem


def _brief(found: JournalCheck) -> tuple[Any, ...]:
    return found.objects, found.first, found.chain, found.problem
