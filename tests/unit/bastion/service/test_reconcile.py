"""A turn of a runner: what is missing is created, what should not be is deleted, what cannot be known is left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Machine, MachineExistence
from bastion.model.state.state import Cause, State
from bastion.model.stored.events import Exited, Gone, Started, Submitted
from bastion.model.stored.records import Claim, Facts, Order, Peers, StopOrder
from bastion.service.observations import ClaimRead, FactsRead, UnreadableObject
from bastion.service.reconcile import ASK_S, OVERTIME, RECORD_BYTES_MAX, STRAY_S
from bastion.service.spec_cache import SpecCache
from tests.support.doors import HandRunner, fails, only
from tests.support.world import NOON, spec
from tests.support.yard import J0, KEY, Yard, claim, stop

# Creating


def test_an_attempt_is_ordered_and_then_created_once() -> None:
    yard = Yard()
    yard.turn()
    assert yard.runner.calls == [("create", KEY)]
    order = yard.record(layout.order(KEY), Order)
    assert (order.command, order.workers, order.restart_reason) == (["run", "me"], 1, "first")
    yard.clock.now += ASK_S - 1
    yard.turn()
    assert yard.runner.calls == []


def test_a_creation_that_shows_nothing_is_asked_for_again_after_a_minute() -> None:
    yard = Yard()
    yard.turn()
    yard.clock.now += ASK_S + 1
    yard.turn()
    assert yard.runner.calls == [("create", KEY)]


def test_what_is_listed_is_not_created_again() -> None:
    yard = Yard()
    yard.turn()
    yard.runner.has("m", KEY)
    yard.clock.now += ASK_S + 1
    yard.turn()
    assert yard.runner.calls == []


def test_a_creation_that_is_refused_is_asked_for_again_and_told() -> None:
    yard = Yard()
    yard.runner.refuses.add("create")
    assert yard.turn() == [UnreadableObject("create failed")]
    yard.runner.refuses.clear()
    yard.turns.specs = SpecCache(yard.bucket)  # who read one between the fence and the call would find nothing
    assert yard.turn() == []
    assert yard.runner.calls == [("create", KEY)]


def test_without_an_order_in_the_bucket_nobody_is_called() -> None:
    yard = Yard()
    yard.bucket.faults = [fails]
    assert yard.turn() == []
    assert yard.runner.calls == []
    yard.turn()
    assert yard.runner.calls == [("create", KEY)]


def test_a_missing_spec_is_told_and_holds_up_no_other() -> None:
    yard = Yard()
    yard.turns.specs = SpecCache(yard.bucket)
    other: dict[str, Any] = {"job": "other", "task": 0, "attempt": 0}
    yard.folds(Submitted(request="o", job="other", spec=spec()), Started(**other, runner="local", tier=0, workers=1))
    yard.turns.specs.keep("other", spec())
    [trouble] = yard.turn()
    assert isinstance(trouble, UnreadableObject)
    assert "the spec of j" in trouble.what
    assert yard.runner.calls == [("create", AttemptKey("other", 0, 0))]


def test_attempts_of_another_runner_are_none_of_ours() -> None:
    yard = Yard()
    yard.runner.name = "gce"
    yard.turns.turn()
    assert yard.runner.calls == []


def test_what_is_desired_is_read_after_the_listing_has_answered() -> None:
    """A listing may take long. What the journal takes in meanwhile has promised the machines that it shows."""
    yard, listed = Yard(), HandRunner.list

    def lists_and_sees_a_job_come(runner: HandRunner) -> Sequence[Machine]:
        yard.folds(
            Submitted(request="o", job="other", spec=spec()), Started(**other, runner="local", tier=0, workers=1)
        )
        yard.turns.specs.keep("other", spec())
        runner.has("m", AttemptKey("other", 0, 0), epoch=3)
        return listed(runner)

    other: dict[str, Any] = {"job": "other", "task": 0, "attempt": 0}
    yard.runner = yard.turns.runner = SlowRunner(lists_and_sees_a_job_come)
    yard.turn()
    assert yard.record(layout.order(AttemptKey("other", 0, 0)), Order).workers == 1
    assert yard.turns.strays == {}


@dataclass
class SlowRunner(HandRunner):
    """Its first listing does what it is told meanwhile."""

    meanwhile: Callable[[HandRunner], Sequence[Machine]] = HandRunner.list

    def __init__(self, meanwhile: Callable[[HandRunner], Sequence[Machine]]) -> None:
        super().__init__()
        self.meanwhile = meanwhile

    def list(self) -> Sequence[Machine]:
        now, self.meanwhile = self.meanwhile, HandRunner.list
        return now(self)


# Seeing


def test_a_claim_is_seen_where_a_machine_is_listed() -> None:
    yard = Yard()
    yard.turn()
    yard.runner.has("m", KEY)
    yard.claimed()
    [seen] = yard.turn()
    assert isinstance(seen, ClaimRead)
    assert seen.claim.machine == "m"
    yard.takes_in([seen])
    assert yard.turn() == []
    assert yard.bucket.calls == [], "a running attempt costs no request"


def test_a_worker_that_nothing_hints_at_is_looked_for_ever_less_often() -> None:
    yard = Yard()
    looks = []
    for _ in range(3600):
        yard.turn()
        looks += [yard.clock.now] if yard.bucket.calls else []
        yard.clock.now += 1
    assert looks[:5] == [0, 1, 2, 3, 4], "one that ended before it was ever listed is seen soon"
    assert len(looks) < 100, "in an hour"
    assert max(after - before for before, after in pairwise(looks[1:])) == ASK_S
    yard.claimed()
    yard.clock.now += ASK_S
    assert [type(seen) for seen in yard.turn()] == [ClaimRead]


def test_a_gang_is_told_its_world_when_all_are_there() -> None:
    yard = Yard(workers=2)
    yard.turn()
    yard.folds(claim("m0", 0))
    yard.turn()
    assert not list(yard.bucket.list(layout.peers(KEY)))
    yard.folds(claim("m1", 1))
    yard.runner.has("m0", KEY, 0)
    yard.runner.has("m1", KEY, 1)
    yard.turn()
    assert [member.port for member in yard.record(layout.peers(KEY), Peers).members] == [0, 1]


@pytest.mark.parametrize("data", [b"rubbish", b'{"nonce": "n"}', b"{" + b" " * RECORD_BYTES_MAX + b"}"])
@pytest.mark.parametrize("stopping", [True, False])
def test_a_claim_that_cannot_be_read_is_trouble_and_no_void(data: bytes, stopping: bool) -> None:
    yard = Yard()
    yard.runner.has("m", KEY)
    yard.bucket.inner.create(layout.claim(KEY, 0), data)
    if stopping:
        yard.folds(stop())
    [seen] = yard.turn()
    assert isinstance(seen, UnreadableObject)
    assert layout.claim(KEY, 0) in seen.what
    assert yard.deletes() == []


# Stopping


def test_a_running_attempt_is_told_to_stop_once_and_deleted_after_its_time() -> None:
    yard = Yard(claim())
    yard.runner.has("m", KEY)
    yard.folds(stop())
    yard.turn()
    assert yard.runner.calls == [("stop", "m")]
    assert yard.record(layout.stop(KEY), StopOrder).cause is Cause.PREEMPTED
    yard.turn()
    assert yard.runner.calls == []
    yard.clock.now = 30 + OVERTIME.total_seconds()
    yard.turn()
    assert yard.runner.calls == []
    yard.clock.now += 1
    yard.turn()
    assert yard.runner.calls == [("delete", "m")]


def test_a_stop_that_is_refused_is_sent_again() -> None:
    yard = Yard(claim(), stop())
    yard.runner.has("m", KEY)
    yard.runner.refuses.add("stop")
    yard.turn()
    yard.runner.refuses.clear()
    yard.turn()
    assert yard.runner.calls == [("stop", "m")]


def test_no_stop_is_sent_before_its_order_is_in_the_bucket() -> None:
    yard = Yard(claim(), stop())
    yard.runner.has("m", KEY)
    yard.bucket.faults = [only("create", fails)]
    yard.turn()
    assert yard.runner.calls == []
    yard.turn()
    assert yard.runner.calls == [("stop", "m")]


def test_a_process_that_ended_has_its_machine_deleted() -> None:
    yard = Yard(claim(), Exited(**J0, worker=0, cause=Cause.OK, exit_code=0))
    yard.runner.has("m", KEY)
    yard.turn()
    assert yard.runner.calls == [("delete", "m")]


def test_a_worker_that_was_never_seen_is_voided() -> None:
    yard = Yard()
    yard.turn()
    yard.folds(stop(Cause.CANCELLED))
    [seen] = yard.turn()
    assert isinstance(seen, ClaimRead)
    assert seen.claim.void
    assert yard.record(layout.claim(KEY, 0), Claim).void
    yard.takes_in([seen])
    yard.runner.has("late", KEY)
    yard.turn()
    assert yard.runner.calls == [("delete", "late")]


def test_a_worker_that_claimed_before_the_void_is_seen_and_stopped() -> None:
    yard = Yard()
    yard.turn()
    yard.claimed()
    yard.folds(stop())
    seen = yard.turn()
    assert [sighting.claim.machine for sighting in seen if isinstance(sighting, ClaimRead)] == ["m"]
    yard.takes_in(seen)
    yard.runner.has("m", KEY)
    yard.turn()
    assert yard.runner.calls == [("stop", "m")]


def test_a_void_whose_answer_was_lost_voids_nothing_yet() -> None:
    yard = Yard(stop())
    yard.bucket.faults = [lambda *_: None, only("create", fails)]
    assert yard.turn() == []
    [seen] = yard.turn()
    assert isinstance(seen, ClaimRead)


# Ending


def test_gone_is_the_answer_to_a_direct_question_and_facts_are_read_after_it() -> None:
    yard = Yard(claim())
    assert yard.turn() == []
    assert yard.runner.calls == [("look", "m")], "absence from a listing is no answer"
    yard.runner.sights["m"] = MachineExistence.UNREACHABLE
    assert yard.turn() == []
    yard.runner.sights["m"] = MachineExistence.GONE
    yard.bucket.inner.write(
        layout.facts(KEY, 0), encode(Facts(phase="ended", machine="m", cause=Cause.OK, exit_code=0))
    )
    [seen] = yard.turn()
    assert isinstance(seen, FactsRead)
    assert seen.gone
    assert seen.facts is not None
    assert seen.facts.cause is Cause.OK


def test_gone_waits_until_the_last_facts_could_be_read() -> None:
    yard = Yard(claim())
    yard.runner.sights["m"] = MachineExistence.GONE
    yard.bucket.faults = [fails]
    assert yard.turn() == []
    assert [type(seen) for seen in yard.turn()] == [FactsRead]


@pytest.mark.parametrize("data", [None, b"rubbish", b" " * (RECORD_BYTES_MAX + 1)])
def test_gone_without_facts_that_can_be_read_is_gone_all_the_same(data: bytes | None) -> None:
    yard = Yard(claim())
    yard.runner.sights["m"] = MachineExistence.GONE
    if data is not None:
        yard.bucket.inner.write(layout.facts(KEY, 0), data)
    assert yard.turn() == [FactsRead(KEY, 0, None, gone=True)]


def test_a_machine_that_is_there_but_not_listed_is_deleted_after_its_end() -> None:
    yard = Yard(claim(), Exited(**J0, worker=0, cause=Cause.OK, exit_code=0))
    yard.turn()
    assert yard.runner.calls == [("look", "m"), ("delete", "m")]


# What should not be


def test_twins_and_strays_are_deleted_by_their_own_id() -> None:
    yard = Yard(claim())
    yard.runner.has("m", KEY)
    yard.runner.has("twin", KEY)
    yard.runner.has("stray", AttemptKey("unknown", 0, 0))
    yard.runner.has("ninth", KEY, worker=9)
    yard.turn()
    assert yard.runner.calls == [("delete", "twin"), ("delete", "ninth")]
    yard.clock.now += STRAY_S
    yard.turn()
    assert ("delete", "stray") in yard.runner.calls


def test_before_a_claim_no_twin_is_deleted() -> None:
    yard = Yard()
    yard.runner.has("one", KEY)
    yard.runner.has("other", KEY)
    yard.turn()
    assert yard.deletes() == []


def test_a_machine_that_outlives_its_end_is_deleted() -> None:
    yard = Yard(claim(), Gone(**J0, worker=0))
    yard.runner.has("m", KEY)
    yard.turn()
    assert yard.deletes() == ["m"]


def test_behind_a_closed_fence_nobody_is_called() -> None:
    yard = Yard(claim(), stop())
    yard.runner.has("m", KEY)
    yard.runner.has("stray", AttemptKey("unknown", 0, 0))
    for yard.clock.now in (1000, 1000 + STRAY_S):
        yard.turns.turn()
    assert yard.runner.calls == []
    yard.turn()
    assert yard.runner.calls == [("delete", "m"), ("delete", "stray")], "long overdue by now"


def test_a_creation_behind_a_closed_fence_is_made_when_it_opens() -> None:
    yard = Yard()
    yard.turns.turn()
    assert yard.runner.calls == []
    yard.turn()
    assert yard.runner.calls == [("create", KEY)]


def test_a_blind_runner_does_nothing() -> None:
    yard = Yard(claim(), stop())
    yard.runner.blind = True
    with pytest.raises(RunnerError):
        yard.turns.turn()
    assert yard.runner.calls == []
    assert yard.bucket.calls == []


def test_what_is_remembered_does_not_outlive_the_attempt() -> None:
    yard = Yard()
    yard.turn()
    assert yard.turns.asked
    assert yard.turns.written
    yard.state = State(now=NOON)
    yard.turn()
    assert (yard.turns.asked, yard.turns.written, yard.turns.poked, yard.turns.looked) == ({}, set(), set(), {})


def test_a_capacity_that_cannot_be_told_is_blindness() -> None:
    yard = Yard()

    def away() -> Any:
        raise RunnerError("away")

    yard.runner.capacity = away  # type: ignore[method-assign]
    with pytest.raises(RunnerError):
        yard.turns.turn()
    assert yard.runner.calls == []


def test_an_unknown_failure_of_one_attempt_is_told_and_does_not_stop_the_turn() -> None:
    yard = Yard()

    def breaks(_verb: str, _key: str) -> None:
        raise ZeroDivisionError

    yard.bucket.faults = [breaks]
    yard.runner.has("stray", AttemptKey("unknown", 0, 0))
    [trouble] = yard.turn()
    assert isinstance(trouble, UnreadableObject)
    assert "stray" in yard.turns.strays
