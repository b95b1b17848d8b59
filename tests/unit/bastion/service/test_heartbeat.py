"""Beats and facts are listed for all workers at once, and only facts that changed are read."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BucketError
from bastion.model.interfaces import AttemptKey
from bastion.model.stored.events import Claimed, Started, Submitted
from bastion.model.stored.records import Facts
from bastion.schedule.desired import desired
from bastion.service.heartbeat import BeatReader
from tests.support.doors import FaultyBucket, HandTasks, fails, folded, only
from tests.support.world import HandClock, spec

KEY = AttemptKey("j", 0, 0)
J0: dict[str, Any] = {"job": "j", "task": 0, "attempt": 0}
STATE = folded(
    Submitted(request="r", job="j", spec=spec(replicas=3)),
    Started(**J0, runner="local", tier=0, workers=3),
    *(Claimed(**J0, worker=worker, machine=f"m{worker}") for worker in range(3)),
)


def ear(bucket: FaultyBucket) -> BeatReader:
    rows = desired(STATE)
    return BeatReader(bucket, HandClock(now=7), lambda: rows, HandTasks().map)


def tell(bucket: FaultyBucket, worker: int, phase: str = "running", key: AttemptKey = KEY, machine: str = "") -> None:
    bucket.inner.write(layout.facts(key, worker), encode(Facts(phase=phase, machine=machine or f"m{worker}")))


def test_what_did_not_change_is_not_read_again() -> None:
    bucket = FaultyBucket()
    mine = ear(bucket)
    for worker in range(3):
        tell(bucket, worker)
        bucket.inner.write(layout.beat(KEY, worker), b"1")
    heard = mine.listen()
    assert heard.at == 7
    assert [(seen.worker, seen.gone) for seen in heard.facts] == [(0, False), (1, False), (2, False)]
    assert heard.beats.keys() == {(KEY, worker) for worker in range(3)}
    bucket.calls.clear()
    assert mine.listen().facts == []
    assert bucket.calls == [("list", layout.BEATS), ("list", layout.FACTS)]
    tell(bucket, 1, "ended")
    assert [seen.worker for seen in mine.listen().facts] == [1]


def test_facts_that_could_not_be_read_are_read_the_next_time_and_hide_no_others() -> None:
    bucket = FaultyBucket()
    mine = ear(bucket)
    for worker in range(3):
        tell(bucket, worker)
    bucket.faults = [lambda *_: None, lambda *_: None, only("read", fails)]
    assert [seen.worker for seen in mine.listen().facts] == [1, 2]
    assert [seen.worker for seen in mine.listen().facts] == [0]


@pytest.mark.parametrize("good", [0, 1])
def test_a_listing_that_fails_says_nothing_about_anybody(good: int) -> None:
    bucket = FaultyBucket()
    mine = ear(bucket)
    bucket.faults = [*[lambda *_: None] * good, fails]
    with pytest.raises(BucketError):
        mine.listen()


def test_facts_that_make_no_sense_are_none_and_of_others_are_not_read() -> None:
    bucket = FaultyBucket()
    mine = ear(bucket)
    bucket.inner.write(layout.facts(KEY, 0), b"rubbish")
    tell(bucket, 0, key=AttemptKey("unknown", 0, 0))
    tell(bucket, 9)
    heard = mine.listen()
    assert [(seen.worker, seen.facts) for seen in heard.facts] == [(0, None)]
    assert len(heard.keys) == 3, "all are known by name, to be removed one day"


@pytest.mark.parametrize("worker", ["-1", "01", "1_0", " 1", "x", "0/0"])
def test_a_strangers_file_is_no_workers(worker: str) -> None:
    bucket = FaultyBucket()
    bucket.inner.write(f"{layout.FACTS}{KEY}/{worker}.json", encode(Facts(phase="ended", machine="m")))
    heard = ear(bucket).listen()
    assert (heard.facts, heard.keys) == ([], {})


def test_facts_that_name_another_machine_are_refused_and_named_for_as_long_as_they_lie_there() -> None:
    bucket = FaultyBucket()
    mine = ear(bucket)
    tell(bucket, 0)
    tell(bucket, 1, "ended", machine="m0")
    heard = mine.listen()
    assert [seen.worker for seen in heard.facts] == [0]
    assert heard.refused == [
        f"{layout.facts(KEY, 1)} is not used: it names the machine 'm0', but its worker is on 'm1'"
    ]
    assert mine.listen().refused == heard.refused
    tell(bucket, 1)
    heard = mine.listen()
    assert ([seen.worker for seen in heard.facts], heard.refused) == ([1], [])


def test_facts_of_a_worker_without_a_claim_wait_for_it() -> None:
    state = folded(Submitted(request="r", job="j", spec=spec()), Started(**J0, runner="local", tier=0, workers=1))
    bucket = FaultyBucket()
    mine = BeatReader(bucket, HandClock(now=7), lambda: desired(state), HandTasks().map)
    tell(bucket, 0, "ended")
    assert mine.listen().facts == []
    folded(Claimed(**J0, worker=0, machine="m0"), state=state)
    assert [seen.worker for seen in mine.listen().facts] == [0]
