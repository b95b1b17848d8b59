"""Decisions of the past, taken again: all equal over a varied history, and what differs is found and told apart."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from bastion.journal.fold import fold
from bastion.journal.recover import objects
from bastion.model import layout
from bastion.model.state.state import Cause, State
from bastion.model.stored.events import Decided, Epoch, FileChanged, Started, Stopping
from bastion.model.stored.journal_object import JournalObject
from bastion.model.stored.requests import Cancel, Hold, Pause, Release, Resume, Top
from bastion.model.version import VERSION
from bastion.quota.demand import LEFT, RULES
from bastion.quota.resources import Resources
from bastion.schedule import decision_record
from bastion.schedule.replay import DecisionDifference, RepeatedDecision, replayed
from tests.support.bench import QUOTA
from tests.support.doors import HandRunner
from tests.support.town import HALVES, Town

CONFIG = 'admins = ["root"]\nreclaim_delay = 5\n'


def lively() -> Town:
    """A town that has seen much: reclaims, a pause, changed files and fleets, failures, a blind runner, a restart."""
    town = Town((layout.CONFIG, CONFIG), (layout.QUOTA, QUOTA))
    big = town.submits(name="big", project="nlp", resources={"v4": 6})
    town.submits(name="rest", project="nlp", resources={"v4": 2}, replicas=1)
    town.ticks(2)
    running = town.runs(big)
    town.submits(name="poor", user="bob", project="vision", resources={"v4": 4})
    town.submits(name="gang", user="bob", project="vision", resources={"v4": 1}, replicas=2, count=3)
    town.ticks(8)  # the reclaim delay is over
    town.ends(running, Cause.PREEMPTED)
    held = town.submits(name="held", project="nlp", resources={"cpu": 1})
    town.asks(Hold(job=held))
    town.asks(Pause(), "root")
    town.ticks(2)
    town.submits(name="late", project="nlp", resources={"cpu": 1})
    town.ticks(2)
    town.asks(Resume(), "root")
    town.bucket.inner.write(layout.QUOTA, QUOTA.replace("v4 = 8", "v4 = 7").encode())
    town.ticks(12)
    town.bastion = town.begin()
    town.asks(Release(job=held))
    town.asks(Top(job=big))
    town.runner.blind = True
    town.ticks(12)
    town.runner.blind = False
    town.runner.holds = {"v4": 6, "cpu": 8}
    town.asks(Cancel(job=big))
    town.ticks(12)
    return town


def records(town: Town) -> list[JournalObject]:
    return list(objects(town.bucket.inner, 0))


def again(found: list[JournalObject]) -> list[RepeatedDecision]:
    return list(replayed(State(), found, len(found)))


def changed(record: JournalObject, change: Callable[[object], object]) -> JournalObject:
    return msgspec.structs.replace(record, events=[change(event) for event in record.events])


def test_every_decision_of_a_varied_history_is_the_same_again() -> None:
    town = lively()
    found = again(records(town))

    assert [each.difference for each in found] == [DecisionDifference.NONE] * len(found)
    assert len(found) == sum(isinstance(event, Decided) for event in town.journal())
    assert {type(event) for each in found for event in each.again.events} == {Started, Stopping}
    assert {(each.epoch, each.version) for each in found} == {(1, VERSION), (2, VERSION)}
    assert len(found) > 8


def test_it_goes_on_from_any_place_and_ends_where_it_is_told() -> None:
    found = records(lively())
    whole = again(found)
    middle = whole[len(whole) // 2].seq
    state = State()
    for record in found[:middle]:
        fold(state, record)

    last = whole[-2].seq
    assert list(replayed(state, found[middle:], last)) == [each for each in whole if middle <= each.seq <= last]


def test_the_state_is_what_the_decision_rested_on_whenever_one_is_given() -> None:
    found, state = records(lively()), State()
    for each in replayed(state, found, len(found)):
        assert (len(state.pending), state.seq) == (each.marker.waiting, each.seq)
        assert all(state.attempt(event.key) is None for event in each.written if isinstance(event, Started))


def test_an_answer_that_the_policy_would_not_give_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    town = Town()
    decide = decision_record.decided

    def forgetful(state: State, *rest: object) -> decision_record.Decision:
        answer = decide(state, *rest)  # type: ignore[arg-type]
        if len(state.jobs) < 4:
            return answer
        kept = answer.events[:-1]
        marker = msgspec.structs.replace(answer.marker, events=len(kept), digest=decision_record.digest(kept))
        return decision_record.Decision(marker=marker, events=kept, again=answer.again)

    with monkeypatch.context() as patch:
        patch.setattr(decision_record, "decided", forgetful)
        for number in range(6):
            town.submits(name=f"j{number}", resources={"v4": 1})
            town.ticks()
    differences = [each.difference for each in again(records(town))]
    assert differences[0] is DecisionDifference.NONE
    assert differences[-1] is DecisionDifference.ANSWER


def test_a_journal_that_somebody_changed_is_told_apart() -> None:
    def elsewhere(event: object) -> object:
        return msgspec.structs.replace(event, tier=1) if isinstance(event, Started) else event

    found = records(lively())
    number = next(each.seq for each in again(found) if any(isinstance(event, Started) for event in each.written))
    found[number] = changed(found[number], elsewhere)

    assert next(each.difference for each in again(found) if each.seq == number) is DecisionDifference.RECORD


def test_another_state_than_the_one_that_it_rested_on_is_told_apart() -> None:
    def one_more(event: object) -> object:
        return msgspec.structs.replace(event, waiting=event.waiting + 1) if isinstance(event, Decided) else event

    found = [changed(record, one_more) for record in records(lively())]

    assert {each.difference for each in again(found)} == {DecisionDifference.INPUTS}


def test_the_quota_and_the_settings_of_that_moment_count() -> None:
    found = records(lively())
    kept = [msgspec.structs.replace(r, events=[e for e in r.events if not isinstance(e, FileChanged)]) for r in found]

    assert {each.difference for each in again(kept)} == {DecisionDifference.NONE, DecisionDifference.ANSWER}


def test_what_a_runner_said_of_hosts_is_taken_from_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    def two_each(_: HandRunner, resources: Resources, replicas: int) -> int:
        return 2 * replicas

    monkeypatch.setattr(HandRunner, "workers", two_each)
    town = Town()
    town.submits(resources={"v4": 1}, replicas=2)
    town.ticks(2)

    [*_, last] = again(records(town))
    [started] = last.again.events
    assert (started.workers, last.difference) == (4, DecisionDifference.NONE)  # type: ignore[union-attr]


def test_an_answer_of_several_objects_is_whole_or_cut_where_its_bastion_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bastion.journal.journal.OBJECT_BYTES_MAX", 4_000)
    town = Town()
    town.submits(name="sweep", resources={"v4": 1}, count=60)
    town.runner.holds = {"v4": 60}
    town.ticks(12)
    found = records(town)
    *_, great = again(found)
    assert (great.marker.events, great.difference) == (52, DecisionDifference.NONE)
    spread = [record.seq for record in found if any(isinstance(event, Started) for event in record.events)]
    assert len(spread) > 3

    cut = found[: great.seq + 2]
    end = Epoch(epoch=2, host="h", pid=1, version=VERSION)
    cut.append(JournalObject(seq=great.seq + 2, epoch=2, nonce="n", now=great.now + timedelta(1), events=[end]))
    *_, part = again(cut)
    assert 0 < len(part.written) < 52
    assert part.difference is DecisionDifference.NONE


def rules(found: list[JournalObject]) -> list[int]:
    return [event.rules for record in found for event in record.events if isinstance(event, Decided)]


THIRDS = """
[toml-schema]
version = "1"
[total_resources]
v4 = 4
[project_membership]
nlp = ["alice"]
vision = ["bob"]
audio = ["carol"]
lent = ["dan"]
[project_resources]
nlp = { v4 = 0.333 }
vision = { v4 = 0.333 }
audio = { v4 = 0.333 }
"""


def test_decisions_of_before_are_taken_again_by_the_rules_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the first rules a fourth unit was nobody's; now it is of `audio`, whose second job has it given back."""
    town = Town((layout.CONFIG, CONFIG), (layout.QUOTA, THIRDS))
    with monkeypatch.context() as patch:
        patch.setattr("bastion.service.tick.RULES", 1)
        for _ in range(3):
            town.submits(user="dan", project="lent", resources={"v4": 1}, replicas=1)
        town.submits(user="carol", project="audio", resources={"v4": 1}, replicas=1)
        town.ticks(2)
        town.submits(user="carol", project="audio", resources={"v4": 1}, replicas=1)
        town.ticks(12)
    before = records(town)
    assert set(rules(before)) == {1}
    assert not any(isinstance(event, Stopping) for event in town.journal())
    assert [each.difference for each in again(before)] == [DecisionDifference.NONE] * len(rules(before))

    town.bastion = town.begin()
    town.ticks(12)
    after = records(town)
    assert set(rules(after)) == {1, RULES}
    assert any(isinstance(event, Stopping) for event in town.journal()), "the rules of now give audio its second unit"
    assert {each.difference for each in again(after)} == {DecisionDifference.NONE}

    def unsaid(event: object) -> object:
        return msgspec.structs.replace(event, rules=1) if isinstance(event, Decided) else event

    forged = [changed(record, unsaid) for record in after]
    assert DecisionDifference.ANSWER in {each.difference for each in again(forged)}


def test_what_those_hold_who_left_is_given_back_to_their_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the rules of before it was the project's use of its share, and nobody else of it could begin."""
    town = Town((layout.CONFIG, CONFIG), (layout.QUOTA, HALVES))
    with monkeypatch.context() as patch:
        patch.setattr("bastion.service.tick.RULES", LEFT - 1)
        gone = town.submits(project="nlp", resources={"v4": 2}, replicas=1)
        town.submits(user="bob", project="vision", resources={"v4": 2}, replicas=1)
        town.ticks(2)
        town.bucket.inner.write(layout.QUOTA, HALVES.replace('"alice", ', "").encode())
        town.ticks(12)
        stays = town.submits(user="eve", project="nlp", resources={"v4": 2}, replicas=1)
        town.ticks(12)
    assert not any(isinstance(event, Stopping) for event in town.journal())

    town.bastion = town.begin()
    town.ticks(12)
    [stop] = [event for event in town.journal() if isinstance(event, Stopping)]
    told = f"reclaimed for nlp/{stays} (eve): nlp (members who left) borrowed 2 v4 over its share of 0"
    assert (stop.job, stop.for_job) == (gone, stays)
    assert stop.reason.startswith(told)
    assert set(rules(records(town))) == {LEFT - 1, RULES}
    assert {each.difference for each in again(records(town))} == {DecisionDifference.NONE}


def test_who_comes_back_gives_nothing_back() -> None:
    town = Town((layout.CONFIG, CONFIG), (layout.QUOTA, HALVES))
    town.submits(project="nlp", resources={"v4": 2}, replicas=1)
    town.submits(user="bob", project="vision", resources={"v4": 2}, replicas=1)
    town.ticks(2)
    for text in (HALVES.replace('"alice", ', ""), HALVES):
        town.bucket.inner.write(layout.QUOTA, text.encode())
        town.ticks(12)
    town.submits(user="eve", project="nlp", resources={"v4": 2}, replicas=1)
    town.ticks(12)
    assert not any(isinstance(event, Stopping) for event in town.journal())
