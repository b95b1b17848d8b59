"""The journal says where the schedule was asked, and how the answer came out; who had nothing to say writes nothing."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bastion.journal.recover import objects
from bastion.model.stored.events import Claimed, Decided, Started
from bastion.quota.demand import RULES
from bastion.schedule import decision_record
from tests.support.town import Town


def markers(town: Town) -> list[Decided]:
    return [event for event in town.journal() if isinstance(event, Decided)]


def test_the_marker_stands_before_what_was_decided() -> None:
    town = Town()
    town.ticks()
    town.submits(resources={"v4": 6})
    town.submits(resources={"v4": 6})
    town.ticks()
    *_, marker, started = town.journal()
    assert isinstance(started, Started)
    assert marker == Decided(events=1, waiting=2, digest=decision_record.digest([started]), rules=RULES)


def test_the_digest_is_of_the_events_as_they_are_written() -> None:
    one = Claimed(job="j", task=0, attempt=0, worker=0, machine="m")
    other = Claimed(job="j", task=0, attempt=0, worker=0, machine="n")
    assert decision_record.digest([]) == ""
    assert decision_record.digest([one]) != decision_record.digest([other])
    assert decision_record.digest([one, other]) != decision_record.digest([other, one])
    assert len(decision_record.digest([one])) == 16


def test_an_idle_tick_writes_nothing() -> None:
    town = Town()
    town.submits(resources={"v4": 8})
    town.submits(resources={"v4": 8})
    town.ticks(2)
    before = town.journal()
    town.ticks(200)  # the reclaim delay passes, too: time alone has it asked again
    assert town.journal() == before


def test_who_is_blind_takes_no_decision() -> None:
    town = Town()
    town.runner.blind = True
    town.ticks(2)
    before = len(markers(town))
    town.submits()
    town.ticks(3)
    assert len(markers(town)) == before
    town.runner.blind = False
    town.ticks(15)
    assert [marker.events for marker in markers(town)[before:]] == [1]


def test_a_tick_after_one_that_fell_says_when_it_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    town.ticks()
    town.submits()
    with monkeypatch.context() as patch:
        patch.setattr(decision_record, "decided", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            town.ticks()
    town.ticks()
    [marker] = [marker for marker in markers(town) if marker.events]
    [record] = [record for record in objects(town.bucket.inner, 0) if marker in record.events]
    assert marker.now == record.now + timedelta(seconds=1)
