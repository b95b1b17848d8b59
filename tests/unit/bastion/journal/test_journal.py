"""What was decided becomes journal objects, whatever answers are lost; a rival ends it."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import pytest

from bastion.journal.attempts import job_of
from bastion.journal.journal import READ, SLOW_S, Journal, take_over
from bastion.journal.recover import load, objects
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import IllegalMove, JournalEndLost, LeadershipLost
from bastion.model.job.spec import deserialize_jobspec
from bastion.model.state.state import State
from bastion.model.stored.events import AnyEvent, CapacityChanged, Epoch, FileChanged, Gone, Illegal, Submitted
from bastion.model.stored.journal_object import OBJECT_BYTES_MAX
from bastion.platform.system import RandomIds
from tests.support.doors import FaultyBucket, fails, loses_the_answer
from tests.support.world import NOON, HandClock, spec

EVENT = CapacityChanged(runner="local", resources={"v4": 8})


def journal(bucket: FaultyBucket, clock: HandClock | None = None) -> Journal:
    made = Journal(bucket, clock or HandClock(), RandomIds(), State())
    made.begin(NOON)
    return made


def written(bucket: FaultyBucket) -> list[list[AnyEvent]]:
    return [list(record.events) for record in objects(bucket.inner, 0)]


def test_nothing_added_is_nothing_written() -> None:
    bucket = FaultyBucket()
    assert journal(bucket).commit() is None
    assert bucket.calls == []


def test_the_events_of_a_tick_are_one_object_and_one_request() -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    assert mine.add(EVENT)
    assert mine.add(Epoch(epoch=1, host="h", pid=1, version="0"))
    assert mine.commit() == 0.0
    assert [len(events) for events in written(bucket)] == [2]
    assert bucket.calls == [("create", layout.journal(0))]
    assert not mine.dirty


@pytest.mark.parametrize("faults", [[fails], [loses_the_answer], [fails, loses_the_answer, fails]])
def test_an_unknown_answer_is_settled_under_the_same_number(faults: list[object]) -> None:
    bucket, clock = FaultyBucket(faults=faults), HandClock()  # type: ignore[arg-type]
    mine = journal(bucket, clock)
    mine.add(EVENT)
    assert mine.commit() == 0.0, "confirmed from when it was first sent"
    assert written(bucket) == [[EVENT]]
    assert clock.now > 0, "it waits between its tries"


def test_another_object_under_our_number_deposes_us() -> None:
    bucket = FaultyBucket()
    rival, mine = journal(bucket), journal(bucket)
    rival.add(EVENT)
    rival.commit()
    mine.add(EVENT)
    with pytest.raises(LeadershipLost, match="journal object 0"):
        mine.commit()
    assert len(written(bucket)) == 1


@pytest.mark.parametrize("count", [1, 3, 20])
@pytest.mark.parametrize("changed", [True, False])
def test_a_look_sees_each_object_that_is_gone_or_another(count: int, changed: bool) -> None:
    """Of many, those between the first and the newest are only listed."""
    for number in range(count):
        bucket = FaultyBucket()
        mine = journal(bucket)
        for _ in range(count):
            mine.add(EVENT)
            mine.commit()
        bucket.inner.delete([layout.journal(number)])
        if changed and (number < READ or number >= count - READ):
            bucket.inner.write(layout.journal(number), b"another")
        with pytest.raises(
            JournalEndLost, match=rf"journal object {number} (was written and is gone|is not what this bastion wrote);"
        ):
            mine.look()


def test_a_look_sees_that_the_object_which_it_began_behind_is_gone() -> None:
    bucket = FaultyBucket()
    first = journal(bucket)
    first.add(EVENT)
    first.commit()
    mine = Journal(bucket, HandClock(), RandomIds(), load(bucket))
    mine.look()
    bucket.inner.delete([layout.journal(0)])
    with pytest.raises(JournalEndLost, match="journal object 0 was written and is gone"):
        mine.look()


def test_a_look_at_rest_is_one_read() -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    for _ in range(20):
        mine.add(EVENT)
        mine.commit()
    mine.look()
    bucket.calls.clear()
    mine.look()
    assert bucket.calls == [("read", layout.journal(19))]


def test_a_slow_append_looks_whether_somebody_followed() -> None:
    clock = HandClock()
    bucket = FaultyBucket(faults=[loses_the_answer])
    mine, other = journal(bucket, clock), Journal(bucket.inner, clock, RandomIds(), State())

    def meanwhile() -> None:
        clock.now += SLOW_S
        other.state.seq = 1
        other.begin(NOON)
        other.add(Epoch(epoch=2, host="h", pid=2, version="0"))
        other.commit()

    clock.script.append(meanwhile)
    mine.add(EVENT)
    with pytest.raises(LeadershipLost, match="journal object 1 meanwhile"):
        mine.commit()


def test_a_slow_append_that_nobody_followed_stands() -> None:
    clock = HandClock()
    bucket = FaultyBucket(faults=[loses_the_answer])
    clock.script.append(lambda: setattr(clock, "now", SLOW_S + 5))
    mine = journal(bucket, clock)
    mine.add(EVENT)
    assert mine.commit() == 0.0
    assert bucket.calls[-1] == ("read", layout.journal(1))


def test_many_events_become_objects_below_the_limit_and_every_spec_is_found_at_its_place() -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    big = spec(env={f"A{i}": "x" * 30_000 for i in range(6)})
    for number in range(40):
        assert mine.add(Submitted(request=f"r{number}", job=f"j-{number}", spec=big))
    mine.commit()
    sizes = [stat.size for stat in bucket.list(layout.JOURNAL)]
    assert len(sizes) > 1
    assert max(sizes) <= OBJECT_BYTES_MAX
    records = list(objects(bucket, 0))
    for job in mine.state.jobs.values():
        event = records[job.seq].events[job.index]
        assert isinstance(event, Submitted)
        assert event.job == job.id
    assert encode(load(bucket.inner)) == encode(mine.state)


def test_the_largest_file_fits_into_an_object_after_whatever_came_before_it() -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    text = '"' * 1024 * 1024  # JSON writes each as two characters
    for version in "abc":
        mine.add(FileChanged(file="quota", version=version, text=text))
    mine.commit()
    assert max(stat.size for stat in bucket.list(layout.JOURNAL)) <= OBJECT_BYTES_MAX
    assert [len(events) for events in written(bucket)] == [1, 1, 1]


def test_an_illegal_event_is_written_as_such_and_changes_nothing() -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    before = encode(mine.state)
    assert not mine.add(Gone(job="j", task=0, attempt=0, worker=0))
    assert encode(mine.state) == before
    mine.commit()
    [[event]] = written(bucket)
    assert isinstance(event, Illegal)
    assert "there is no job j" in event.what


def test_what_cannot_be_written_does_not_happen() -> None:
    mine = journal(FaultyBucket())
    before = encode(mine.state)
    with pytest.raises(UnicodeEncodeError):
        mine.add(CapacityChanged(runner="\udc80", resources={"v4": 1}))
    assert encode(mine.state) == before
    assert not mine.dirty


def test_events_of_a_tick_that_fell_are_kept_with_their_time() -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    mine.add(EVENT)
    mine.begin(NOON + timedelta(seconds=9))
    mine.commit()
    [record] = objects(bucket, 0)
    assert record.now == NOON
    mine.begin(NOON + timedelta(seconds=9))
    assert mine.state.now == NOON + timedelta(seconds=9)


@pytest.mark.parametrize("written_first", [True, False])
def test_a_commit_that_fell_in_the_middle_is_finished_by_the_next_with_the_same_bytes(written_first: bool) -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    for version in "ab":
        mine.add(FileChanged(file="quota", version=version, text="x" * 2_000_000))

    def falls(_verb: str, _key: str) -> object:
        if written_first:
            return lambda: 1 / 0
        raise ZeroDivisionError

    bucket.faults = [falls]  # type: ignore[list-item]
    with pytest.raises(ZeroDivisionError):
        mine.commit()
    mine.commit()
    assert [[event.version for event in events] for events in written(bucket)] == [["a"], ["b"]]  # type: ignore[union-attr]


def test_the_first_of_two_takes_the_epoch() -> None:
    bucket = FaultyBucket()
    first, second = journal(bucket), journal(bucket)
    event = Epoch(epoch=1, host="h", pid=1, version="0")
    assert take_over(first, event)
    assert not take_over(second, event)


def test_what_a_journal_holds_reads_like_what_was_meant() -> None:
    bucket = FaultyBucket()
    mine = journal(bucket)
    wanted = deserialize_jobspec(encode(spec(env={"A": 'ü "quoted"\n'})))
    mine.add(Submitted(request="r", job="j-r", spec=wanted))
    mine.add(EVENT)
    mine.commit()
    assert written(bucket) == [[Submitted(request="r", job="j-r", spec=wanted), EVENT]]
    for one, other in pairwise(objects(bucket, 0)):
        assert one.nonce != other.nonce


def test_what_is_said_of_an_impossible_event_is_one_line_whatever_names_it_has() -> None:
    with pytest.raises(IllegalMove) as caught:
        job_of(State(), "j\nline: forged")
    assert str(caught.value) == repr("there is no job j\nline: forged")
