"""A claim that other hands damaged: its worker's facts say on which machine somebody runs, and else an operator is asked."""

from __future__ import annotations

import logging

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import MachineExistence
from bastion.model.state.state import AttemptState
from bastion.model.stored.records import Claim, Facts
from bastion.service.observations import ClaimRead, FactsRead, UnreadableObject
from tests.support.yard import KEY, Yard, claim, stop


def damaged(workers: int = 1, *, stopping: bool = False, facts: bytes | None = None) -> Yard:
    yard = Yard(workers=workers)
    yard.runner.has("m", KEY)
    yard.bucket.inner.create(layout.claim(KEY, 0), b'{"schema":1,"mach')
    if facts is not None:
        yard.bucket.inner.create(layout.facts(KEY, 0), facts)
    if stopping:
        yard.folds(stop())
    return yard


TOLD = encode(Facts(phase="running", machine="m"))


@pytest.mark.parametrize(("workers", "stopping"), [(1, False), (1, True), (2, True)])
def test_the_workers_facts_name_its_machine(workers: int, stopping: bool) -> None:
    yard = damaged(workers, stopping=stopping, facts=TOLD)
    seen = [one for one in yard.turn() if isinstance(one, ClaimRead) and one.worker == 0]
    assert [one.claim.machine for one in seen] == ["m"]
    yard.takes_in(list(seen))
    yard.runner.loses("m")
    yard.runner.sights["m"] = MachineExistence.GONE
    assert FactsRead(KEY, 0, Facts(phase="running", machine="m"), gone=True) in yard.turn()


def test_where_a_worker_of_a_gang_can_be_reached_no_facts_tell() -> None:
    yard = damaged(2, facts=TOLD)
    [trouble] = yard.turn()
    assert isinstance(trouble, UnreadableObject)
    yard.folds(claim(worker=1, machine="n"))
    attempt = yard.state.attempt(KEY)
    assert attempt is not None
    assert attempt.state is AttemptState.STARTING


@pytest.mark.parametrize("facts", [None, b"rubbish", encode(Facts(phase="claimed", machine=""))])
def test_without_them_each_turn_says_what_to_do_by_hand(facts: bytes | None) -> None:
    yard = damaged(stopping=True, facts=facts)
    for _ in range(3):
        [trouble] = yard.turn()
        assert isinstance(trouble, UnreadableObject)
        said, _, by_hand = trouble.what.partition("; once no machine of this worker is left, replace it by ")
        assert f"{layout.claim(KEY, 0)} cannot be read" in said
    assert yard.deletes() == []
    yard.bucket.inner.write(layout.claim(KEY, 0), by_hand.encode())
    [seen] = yard.turn()
    assert seen == ClaimRead(KEY, 0, Claim(void=True, nonce="by hand"))


def test_also_while_it_is_looked_for_ever_less_often() -> None:
    yard = damaged()
    yard.runner.loses("m")
    for _ in range(300):
        assert [type(seen) for seen in yard.turn()] == [UnreadableObject]
        yard.clock.now += 1


def test_facts_that_are_damaged_are_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    yard = Yard(claim())
    yard.bucket.inner.create(layout.facts(KEY, 0), b"rubbish")
    yard.runner.sights["m"] = MachineExistence.GONE
    with caplog.at_level(logging.WARNING, "bastion"):
        assert yard.turn() == [FactsRead(KEY, 0, None, gone=True)]
    [line] = caplog.messages
    assert line.startswith(f"{layout.facts(KEY, 0)} cannot be read: ")
