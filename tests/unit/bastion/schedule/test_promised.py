"""Machines that come late, and machines that are of no use to anybody: what a reconciler does about them."""

from __future__ import annotations

from datetime import timedelta

from bastion.model.interfaces import AttemptKey, Machine
from bastion.model.state.state import AttemptState, Cause
from bastion.model.stored.events import Stopping, Waiting
from bastion.schedule.lifecycle import FORMING, settle
from bastion.service.observations import MachinesAwaited, note
from tests.support.world import NOON
from tests.support.yard import J0, KEY, Yard, claim

STRANGER = AttemptKey("stranger", 0, 0)
QUEUED = "v4-16 (spot) is queued in us-central2-b"


def test_a_machine_that_is_only_promised_is_no_machine() -> None:
    yard = Yard(claim("m"))
    yard.runner.machines.append(Machine(id="m", key=KEY, worker=0, epoch=1, seen=False))
    yard.turn()
    assert ("look", "m") in yard.runner.calls
    assert yard.deletes() == []


def test_what_is_doomed_is_deleted_whoever_wants_it_and_at_once() -> None:
    yard = Yard(claim("m"))
    yard.runner.machines = [
        Machine(id="m", key=KEY, worker=0, epoch=1, doomed=True),
        Machine(id="dead", key=STRANGER, worker=0, epoch=1, seen=False, doomed=True),
    ]
    yard.turn()
    assert yard.deletes() == ["m", "dead"]
    assert ("look", "m") not in yard.runner.calls


def test_a_wait_is_told_once_and_its_end_too() -> None:
    yard = Yard()
    yard.runner.waits = {KEY: QUEUED}
    seen = yard.turn()
    assert MachinesAwaited(KEY, QUEUED) in seen
    yard.takes_in(seen)
    assert not any(isinstance(one, MachinesAwaited) for one in yard.turn())
    yard.runner.waits = {}
    assert MachinesAwaited(KEY, "") in yard.turn()


def test_claims_of_those_who_wait_are_looked_for_ever_less_often() -> None:
    yard = Yard(workers=4)
    yard.runner.waits = {KEY: QUEUED}
    for worker in range(4):
        yard.runner.has(f"m{worker}", KEY, worker)
    reads = []
    for _ in range(60):
        yard.turn()
        reads.append(sum(verb == "read" for verb, _ in yard.bucket.calls))
        yard.clock.now += 10
    assert sum(reads) < 4 * 20


def test_an_attempt_that_waits_is_not_given_up_and_forms_from_then_on() -> None:
    yard = Yard(Waiting(**J0, reason=QUEUED))
    state = yard.state
    assert list(settle(state, NOON + 10 * FORMING)) == []
    state.now = NOON + 10 * FORMING
    yard.folds(Waiting(**J0, reason=""))
    assert list(settle(state, state.now + FORMING - timedelta(seconds=1))) == []
    (given_up,) = settle(state, state.now + FORMING)
    assert isinstance(given_up, Stopping)
    assert given_up.cause is Cause.VOID


def test_who_runs_waits_for_nothing() -> None:
    yard = Yard(Waiting(**J0, reason=QUEUED), claim())
    attempt = yard.state.live_attempts()[0][2]
    assert (attempt.state, attempt.waits_for) == (AttemptState.RUNNING, "")
    assert list(note(yard.state, MachinesAwaited(KEY, QUEUED), NOON)) == []
