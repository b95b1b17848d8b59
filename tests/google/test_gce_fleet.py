"""Many jobs on VMs at once: requests do not grow with their number, losses are replaced, and nothing is left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from bastion.events import CancelRequested
from bastion.google.rate import PER_MINUTE
from bastion.state import JobState
from tests.google.gces import BULK, OTHER_ZONE, ZONE, GceFleet, ground, settings

L4 = {"l4": 1}


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Iterator[GceFleet]:
    with ground(monkeypatch, settings(tiers=["spot"])) as here:
        yield GceFleet(here)


def test_requests_of_a_pass_do_not_grow_with_the_jobs(fleet: GceFleet) -> None:
    """A thousand jobs are asked for as fast as Google allows and no faster; then a pass is two questions, page by page."""
    fleet.submit((f"j{n}" for n in range(1000)), L4)
    fake = fleet.ground.fake
    fake.rates.most["compute"] = 400
    fleet.goes_on(20, 45)
    assert len(fleet.running()) == 1000
    assert fake.rates.refused == 0
    creations = [call.at for call in fake.calls(BULK)]
    assert len(creations) == 1000
    assert max(Counter(int(at // 60) for at in creations).values()) <= PER_MINUTE["compute", "create"]
    asked = len(fake.calls("compute."))
    fleet.turn()
    assert len(fake.calls("compute.")) - asked == 2 + 1  # 500 VMs are the most on one of Google's pages
    assert fleet.troubles == []


def test_insertions_under_way_are_one_more_question_a_zone(fleet: GceFleet) -> None:
    fleet.submit((f"j{n}" for n in range(100)), L4)
    fleet.turn()
    assert len(fleet.ground.fake.calls(BULK)) == 100  # a decision is followed by its request in the same pass
    asked = len(fleet.ground.fake.calls("compute."))
    fleet.turn()
    assert len(fleet.ground.fake.calls("compute.")) - asked == 2 + 1


def test_thirty_two_losses_are_replaced_in_one_pass(fleet: GceFleet) -> None:
    fleet.submit((f"j{n}" for n in range(32)), L4)
    fleet.goes_on(8)
    assert len(fleet.running()) == 32
    fake = fleet.ground.fake
    for name in list(fleet.ground.rows("instances")):
        fake.preempt(name)
    before = len(fake.calls(BULK))
    while len(fake.calls(BULK)) == before:
        fleet.turn()
        fake.clock.advance(10)
    assert len(fake.calls(BULK)) - before == 32
    fleet.goes_on(12)
    assert {key.attempt for key in fleet.running()} == {1}
    assert len(fleet.running()) == len(fleet.ground.rows("instances")) == 32
    assert {job.state for job in fleet.state.jobs.values()} == {JobState.RUNNING}


def test_a_gang_is_placed_together_and_leaves_nothing(fleet: GceFleet) -> None:
    fleet.submit(["gang"], {"a100": 8}, replicas=2)
    fleet.goes_on(10)
    (key,) = fleet.running()
    assert len(fleet.machines_of(key)) == 2
    assert len(fleet.ground.rows("resourcePolicies")) == 1
    for worker in range(2):
        fleet.end(key, worker)
    fleet.goes_on(20)
    assert [fleet.ground.rows(kind) for kind in ("instances", "disks", "resourcePolicies")] == [{}, {}, {}]
    assert [job.state for job in fleet.state.jobs.values()] == [JobState.SUCCEEDED]


def test_what_is_cancelled_while_it_waits_leaves_nothing(fleet: GceFleet) -> None:
    fleet.ground.fake.faults.stock_out()
    fleet.submit(["j"], L4)
    fleet.goes_on(60)
    assert "none is left there now" in fleet.state.live_attempts()[0][2].waits_for
    fleet.folds(CancelRequested(request="c", user="ada", job="j-12345678"))
    fleet.goes_on(20)
    assert fleet.ground.rows("instances") == {}
    assert [job.state for job in fleet.state.jobs.values()] == [JobState.CANCELLED]


def test_a_restart_between_creation_and_listing_makes_no_second_vm(fleet: GceFleet) -> None:
    fleet.ground.fake.faults.lag_lists(90)
    fleet.submit(["j"], L4, replicas=2)
    for _ in range(4):
        fleet.turn()
        fleet.restart()
        fleet.clock.sleep(20)
    fleet.goes_on(20)
    assert len(fleet.running()) == 1
    assert len(fleet.ground.rows("instances")) == 2


def test_two_creations_of_one_attempt_end_as_one(fleet: GceFleet) -> None:
    """The worst case: an answer was lost in one zone, all memory of it too, and another zone was asked."""
    fake = fleet.ground.fake
    fake.faults.come_late(BULK, 200, times=9)
    fleet.submit(["j"], L4)
    fleet.turn()
    fake.faults.calm()
    fleet.ground.runner.settings.zones.reverse()
    fleet.restart()
    fleet.clock.sleep(70)
    fleet.goes_on(40)
    assert set(fleet.ground.creations()) == {ZONE, OTHER_ZONE}
    assert len(fleet.running()) == len(fleet.ground.rows("instances")) == 1


def test_what_google_will_not_do_is_a_trouble_and_a_reason(fleet: GceFleet) -> None:
    fleet.ground.fake.faults.deny("compute.instances.create")
    fleet.submit(["j"], L4)
    fleet.goes_on(3)
    assert any("lacks compute.instances.create" in trouble for trouble in fleet.troubles)
    assert "lacks compute.instances.create" in fleet.state.live_attempts()[0][2].waits_for
