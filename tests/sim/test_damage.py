"""What a worker does with an object of ours that is damaged: that is nobody's failure, and costs no try."""

from __future__ import annotations

import errno
import os

import pytest

from bastion.launcher.submit.without_bastion import WithoutBastion
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import Machine
from bastion.model.state.state import Cause
from bastion.model.stored.records import Claim, Facts, Peers
from bastion.runners.worker.exit_reason import no_room
from tests.simulation.parts.fleet import SimRunner
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, Life
from tests.support.doors import memory
from tests.support.world import spec
from tests.unit.bastion.stores.test_lost_answers import KEY

TORN = b'{"schema":1,"na'


class Place:
    """One machine, whose worker runs a program that ends a while after SIGTERM, with 9."""

    def __init__(self, workers: int = 1) -> None:
        self.kernel, self.bucket = Kernel(1), memory()
        self.here = WithoutBastion(self.bucket, KEY, workers)
        self.here.order(spec(name="train", command="work", replicas=workers, grace_s=20.0))
        self.host = SimHost(self.kernel, {"work": _work}, Machine(id="m", key=KEY, worker=0, epoch=1))
        self.runner = SimRunner(self.kernel, lambda _: self.bucket, {}, {"m": self.host})

    def works(self) -> None:
        """The worker begins."""
        self.kernel.spawn(self.host.worker, lambda: self.runner.work(self.host))

    def falls(self) -> None:
        """The worker is killed, and its keeper ends in its place."""
        self.host.worker.end()
        self.host.worker = Life()
        self.kernel.spawn(self.host.worker, lambda: self.runner.stand_in(self.host, "the worker fell"))

    def ended(self) -> Facts:
        """What is told in the end."""
        assert self.kernel.run(lambda: not self.host.there, 600)
        facts = self.here.facts(0)
        assert facts is not None
        return facts


def _work(process: SimProcess) -> int:
    process.traps = True
    process.print("begin\n")
    if process.sleep(1e6):
        process.forget_signal()
        process.sleep(10)
    return 9


def test_a_damaged_order_is_not_the_jobs_failure() -> None:
    place = Place()
    place.bucket.write(layout.order(KEY), TORN)
    place.works()
    facts = place.ended()
    assert (facts.phase, facts.cause) == ("ended", Cause.LOST)
    assert facts.message.startswith(f"{layout.order(KEY)} cannot be read: ")


@pytest.mark.parametrize("data", [TORN, encode(Peers(members=[]))])
def test_nor_are_damaged_addresses_of_its_gang(data: bytes) -> None:
    place = Place(workers=2)
    place.bucket.create(layout.peers(KEY), data)
    place.works()
    facts = place.ended()
    assert (facts.phase, facts.cause) == ("ended", Cause.LOST)
    assert layout.peers(KEY) in facts.message


def test_a_damaged_stop_is_one_all_the_same_with_the_jobs_own_grace() -> None:
    place = Place()
    place.works()
    assert place.kernel.run(lambda: place.host.runs, 60)
    place.bucket.create(layout.stop(KEY), TORN)
    facts = place.ended()
    assert (facts.cause, facts.exit_code) == (Cause.CANCELLED, 9), "it had no notice"


def test_a_keeper_that_cannot_know_whose_the_claim_was_ends_all_and_tells_nothing() -> None:
    place = Place()
    place.works()
    assert place.kernel.run(lambda: (facts := place.here.facts(0)) is not None and facts.phase == "running", 60)
    place.bucket.write(layout.claim(KEY, 0), TORN)
    place.falls()
    assert place.ended().phase == "running"
    assert place.host.process is not None
    assert not place.host.process.alive()


def test_a_keeper_goes_on_behind_facts_that_are_damaged() -> None:
    place = Place()
    place.works()
    assert place.kernel.run(lambda: (facts := place.here.facts(0)) is not None and facts.phase == "running", 60)
    place.bucket.write(layout.facts(KEY, 0), TORN)
    place.falls()
    assert place.kernel.run(lambda: not place.host.there, 600)
    facts = place.ended()
    assert (facts.phase, facts.cause, facts.machine, facts.message) == ("ended", Cause.LOST, "m", "the worker fell")


def test_a_claim_in_another_name_is_not_the_keepers() -> None:
    place = Place()
    place.bucket.create(layout.claim(KEY, 0), encode(Claim(machine="other", nonce="n")))
    place.falls()
    assert place.kernel.run(lambda: not place.host.there, 600)
    assert place.here.facts(0) is None


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_what_the_disk_or_its_limits_forbid_is_the_machines_failure(number: int) -> None:
    assert no_room(OSError(number, os.strerror(number)))
