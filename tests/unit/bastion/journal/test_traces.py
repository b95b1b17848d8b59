"""A job that has left the state can be told for ever, by its id and by its name."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bastion.journal import journal_reader, retirement, tombstones
from bastion.journal.recover import load, one_by_one
from bastion.journal.snapshot import make
from bastion.model import layout
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CancelRequested, Forgotten, RequestRejected, Stopping
from bastion.stores.counting import CountingBucket
from tests.support.world import NOON, World

MONTHS = timedelta(days=31)


def ended(world: World, request: str, **fields: object) -> str:
    job = world.submitted(request * 32, **fields)
    world.ends(world.runs(job), Cause.OK, JobState.SUCCEEDED, code=0)
    return job


def retired(world: World) -> None:
    leaving = retirement.retirable(world.journal.state, NOON + MONTHS)
    world.happens(Forgotten(jobs=list(retirement.remove(world.bucket, leaving))))


def test_the_state_knows_where_the_events_of_each_job_are() -> None:
    world = World()
    victim, poor = world.submitted("a" * 32, name="a"), world.submitted("b" * 32, name="b", user="bob")
    key = world.runs(victim)
    at = {"job": key.job, "task": 0, "attempt": 0}
    world.happens(Stopping(**at, cause=Cause.PREEMPTED, deadline=NOON, reason="", for_job=poor))  # type: ignore[arg-type]
    world.happens(RequestRejected(request="q", user="eve", reason="", job=poor))
    world.happens(CancelRequested(request="x", user="bob", job="nobody"))
    state = world.journal.state
    assert journal_reader.numbers_of(state, state.jobs[victim]) == [1, 3, 4, 5]
    assert journal_reader.numbers_of(state, state.jobs[poor]) == [2, 5, 6]
    assert state.marks == {"capacity": (0,)}


def test_a_snapshot_of_an_older_version_has_the_journal_below_it_read() -> None:
    world = World()
    job = world.submitted()
    key = world.runs(job)
    old = load(world.bucket)
    old.indexed, old.jobs[job].later = old.seq, ()
    world.ends(key, Cause.OK, JobState.SUCCEEDED, code=0)
    journal_reader.catch_up(world.bucket, old, one_by_one, journal_reader.Gaps())
    assert journal_reader.numbers_of(old, old.jobs[job]) == [1, 2, 3, 4, 5]


def test_what_a_snapshot_holds_of_it_is_what_the_fold_knows() -> None:
    world = World()
    ended(world, "a", name="a")
    retired(world)
    job = ended(world, "b", name="b")
    make(world.bucket)
    read, known = load(world.bucket), world.journal.state
    assert (read.marks, read.indexed, read.forgotten) == (known.marks, 0, NOON)
    assert read.jobs[job].later == known.jobs[job].later


def test_a_job_that_left_is_found_by_its_id_with_one_read() -> None:
    world = World()
    known = world.journal.state.jobs[ended(world, "a", name="train-big")]
    retired(world)
    counting = CountingBucket(world.bucket)
    found = tombstones.find(counting, known.id, one_by_one)
    assert found == known
    assert not world.journal.state.jobs
    assert counting.counts == {"read": 1}


def test_a_name_is_the_newest_job_that_left_and_no_other_name() -> None:
    world = World()
    newest = [ended(world, letter, name="train") for letter in "cab"][-1]
    ended(world, "d", name="train-big")
    retired(world)
    counting = CountingBucket(world.bucket)
    found = tombstones.find(counting, "train", one_by_one)
    assert found is not None
    assert found.id == newest
    assert counting.counts == {"list": 1, "read": 3}
    assert tombstones.find(world.bucket, "trai", one_by_one) is None


def test_a_job_leaves_twice_after_a_crash() -> None:
    world = World()
    job = ended(world, "a")
    leaving = retirement.retirable(world.journal.state, NOON + MONTHS)
    retirement.remove(world.bucket, leaving)
    world.happens(RequestRejected(request="q", user="eve", reason="", job=job))
    retired(world)
    assert [stat.key for stat in world.bucket.list(layout.ENDED)] == [layout.ended(job)]


def test_nothing_is_removed_or_forgotten_before_the_trace_is_there() -> None:
    world = World()
    ended(world, "a")
    leaving = retirement.retirable(world.journal.state, NOON + MONTHS)

    def falls(_work: object, items: object) -> list[Exception]:
        return [OSError("no room")]

    world.bucket.write(leaving.papers[0], b"order")
    with pytest.raises(OSError, match="no room"):
        retirement.remove(world.bucket, leaving, falls)  # type: ignore[arg-type]
    assert world.bucket.read(leaving.papers[0]).data == b"order"
