"""The bastion's own log reaches the bucket in order and without gaps, and a store that is away costs bounded memory."""

from __future__ import annotations

import logging

import pytest

from bastion.journal import logs
from bastion.journal.own_log import FLUSH_S, LINES_AT_ONCE, LINES_MAX, OwnLog, told
from bastion.model import layout
from bastion.model.errors import BucketError
from bastion.model.state.state import Cause
from bastion.model.stored.events import Claimed, FileChanged, Stopping, Submitted
from tests.support.doors import Fault, FaultyBucket, fails, loses_the_answer
from tests.support.world import NOON, HandClock, spec

PREFIX = layout.bastion_log(7)


def made(bucket: FaultyBucket) -> OwnLog:
    return OwnLog(bucket, HandClock(), 7)


def say(own: OwnLog, text: str) -> None:
    own.handle(logging.makeLogRecord({"msg": text, "levelname": "INFO"}))


def lines(bucket: FaultyBucket) -> list[str]:
    keys = [stat.key for stat in bucket.inner.list(PREFIX)]
    assert keys == [layout.segment(PREFIX, number) for number in range(len(keys))], "no gaps"
    return b"".join(logs.read(bucket.inner, list(bucket.inner.list(PREFIX)))).decode().splitlines()


def test_a_line_says_when_how_grave_and_what() -> None:
    bucket = FaultyBucket()
    own = made(bucket)
    say(own, "hello")
    own.send()
    assert lines(bucket) == ["2026-01-31T12:00:00.000Z I hello"]
    own.send()
    assert len(bucket.calls) == 1, "nothing new is no request"


@pytest.mark.parametrize("fault", [fails, loses_the_answer])
def test_after_an_unknown_answer_the_same_bytes_go_to_the_same_segment(fault: Fault) -> None:
    bucket = FaultyBucket(faults=[fault])
    own = made(bucket)
    say(own, "one")
    with pytest.raises(BucketError):
        own.send()
    say(own, "two")
    own.send()
    assert [line.split()[-1] for line in lines(bucket)] == ["one", "two"]


def test_a_store_that_is_away_costs_bounded_memory_and_says_what_is_missing() -> None:
    bucket = FaultyBucket()
    own = made(bucket)
    for number in range(LINES_MAX + 5):
        say(own, f"line {number}")
    own.send()
    found = lines(bucket)
    assert len(found) == LINES_MAX + 1
    assert found[-1] == "5 lines were dropped here"
    assert found[LINES_AT_ONCE].endswith(f"line {LINES_AT_ONCE}")
    say(own, "after")
    own.send()
    assert lines(bucket)[-1].endswith("after")


def test_the_longest_lines_lose_nothing_but_their_ends() -> None:
    bucket = FaultyBucket()
    own = made(bucket)
    for _ in range(2 * LINES_AT_ONCE):
        say(own, "é" * 5_000)
    own.send()
    assert len(lines(bucket)) == 2 * LINES_AT_ONCE
    assert max(stat.size for stat in bucket.inner.list(PREFIX)) <= logs.SEGMENT_MAX


def test_it_is_written_beside_the_tick_every_few_seconds() -> None:
    bucket, clock, started = FaultyBucket(), HandClock(), list[float]()
    own = OwnLog(bucket, clock, 7)

    def start() -> bool:
        started.append(clock.now)
        own.send()
        return True

    own.flush_beside(start)
    assert started == []
    for _ in range(3):
        say(own, "x")
        own.flush_beside(start)
    assert started == [0.0]
    clock.now += FLUSH_S
    own.flush_beside(start)
    assert started == [0.0, FLUSH_S]


def test_a_write_that_cannot_be_started_is_due_at_the_next_tick() -> None:
    bucket = FaultyBucket()
    own = made(bucket)
    say(own, "x")
    answers = [False, True]
    for _ in range(3):
        own.flush_beside(lambda: answers.pop(0))
    assert answers == []


def test_events_are_told_in_short() -> None:
    job = Submitted(request="r", job="j-1", spec=spec(count=3))
    assert told(job) == "Submitted j-1 user=alice project=default count=3"
    assert told(FileChanged(file="quota", version="9", text="x" * 999)) == "FileChanged quota version=9"
    at = {"job": "j-1", "task": 0, "attempt": 0}
    claimed = Claimed(**at, worker=0, machine="m", address="a\nb", port=7)  # type: ignore[arg-type]
    assert told(claimed) == "Claimed job=j-1 task=0 attempt=0 worker=0 machine=m address=a b port=7"
    stopping = Stopping(**at, cause=Cause.LOST, deadline=NOON, reason="r" * 999)  # type: ignore[arg-type]
    assert len(told(stopping)) < 400
