"""Many jobs at once, on slices and on VMs: requests do not grow with their number, losses are replaced, nothing is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bastion.model.errors import NotReady
from bastion.model.state.state import JobState
from bastion.model.stored.events import CancelRequested
from bastion.runners.google.api.rate import PER_MINUTE
from bastion.schedule.desired import desired
from bastion.schedule.lifecycle import FORMING
from tests.google.support.fleet import Fleet
from tests.google.support.kinds import GCE, TPU, Kind

IN_A_PASS = {"tpu": 2 * 2, "gce": 2 + 1}
"""The requests of a pass over 1,000 jobs: zones times kinds of listings, a page each; two listings, VMs on two pages."""

WAITS = {"tpu": "v6e-8 (spot) is queued in us-east5-b", "gce": "no capacity there now"}


@pytest.fixture(params=[TPU, GCE], ids=lambda kind: kind.name)
def fleet(request: pytest.FixtureRequest) -> Iterator[Fleet]:
    yield from played(request.param)


@pytest.fixture
def slices() -> Iterator[Fleet]:
    yield from played(TPU)


@pytest.fixture
def vms() -> Iterator[Fleet]:
    yield from played(GCE)


def played(kind: Kind) -> Iterator[Fleet]:
    found = Fleet(kind, {"tiers": ["spot"]})
    yield found
    assert not found.crew.wrong
    assert not found.fake.desk.crashes
    assert not found.fake.mistakes


def test_requests_of_a_pass_do_not_grow_with_the_jobs(fleet: Fleet) -> None:
    """A thousand jobs are asked for as fast as Google allows and no faster; then a pass is a few questions."""
    fleet.submit((f"j{n}" for n in range(1000)), fleet.kind.one)
    service = fleet.kind.service
    fleet.fake.rates.most[service] = 400  # all that one minute's passes, creations and their like may be together
    fleet.goes_on(34 if service == "tpu" else 20, 45)
    assert len(fleet.running()) == 1000
    assert fleet.fake.rates.refused == 0
    creations = [call.at for call in fleet.creations()]
    assert len(creations) == 1000
    assert max(Counter(int(at // 60) for at in creations).values()) <= PER_MINUTE[service, "create"]
    asked = len(fleet.fake.calls())
    fleet.turn()
    assert len(fleet.fake.calls()) - asked == IN_A_PASS[fleet.kind.name]
    assert fleet.troubles == []


def test_the_first_creation_follows_a_decision_at_once(fleet: Fleet) -> None:
    fleet.turn()
    fleet.submit(["j"], fleet.kind.one)
    fleet.turn()
    assert len(fleet.creations()) == 1


def test_insertions_under_way_are_one_more_question_a_zone(vms: Fleet) -> None:
    vms.submit((f"j{n}" for n in range(100)), GCE.one)
    vms.turn()
    assert len(vms.creations()) == 100
    asked = len(vms.fake.calls())
    vms.turn()
    assert len(vms.fake.calls()) - asked == 2 + 1


def test_thirty_two_losses_are_replaced_in_one_pass(fleet: Fleet) -> None:
    fleet.submit((f"j{n}" for n in range(32)), fleet.kind.one)
    fleet.goes_on(12)
    assert len(fleet.running()) == 32
    fleet.fake.clock.advance(120)
    for name in fleet.rows(fleet.kind.machines):
        fleet.fake.preempt(name)
    before = len(fleet.creations())
    while len(fleet.creations()) == before:
        fleet.turn()
        fleet.fake.clock.advance(10)
    assert len(fleet.creations()) - before == 32
    fleet.goes_on(30)
    assert {key.attempt for key in fleet.running()} == {1}
    assert len(fleet.running()) == len(fleet.rows(fleet.kind.machines)) == 32
    assert {job.state for job in fleet.state.jobs.values()} == {JobState.RUNNING}


def test_slices_of_a_gang_are_of_one_creation_and_end_as_one(slices: Fleet) -> None:
    slices.submit(["gang"], {"v6e": 16}, replicas=2)
    slices.goes_on(12)
    (key,) = slices.running()
    assert len(slices.machines_of(key)) == 2
    for worker in range(7):
        slices.end(key, worker)
    slices.goes_on(10)
    assert len(slices.rows("nodes")) == 2, "one that has ended takes no other's log"
    slices.end(key, 7)
    _ended_without_a_trace(slices)


def test_vms_of_a_gang_are_placed_together(vms: Fleet) -> None:
    vms.submit(["gang"], {"a100": 8}, replicas=2)
    vms.goes_on(10)
    (key,) = vms.running()
    assert len(vms.machines_of(key)) == 2
    assert len(vms.rows("resourcePolicies")) == 1
    for worker in range(2):
        vms.end(key, worker)
    _ended_without_a_trace(vms)


def _ended_without_a_trace(fleet: Fleet) -> None:
    fleet.goes_on(20)
    assert [fleet.rows(kind) for kind in fleet.kind.costs] == [{}] * len(fleet.kind.costs)
    assert [job.state for job in fleet.state.jobs.values()] == [JobState.SUCCEEDED]


@pytest.mark.parametrize("worker", [0, 2])
def test_a_gang_of_vms_that_loses_one_before_its_claims_is_asked_for_anew(vms: Fleet, worker: int) -> None:
    vms.submit(["gang"], GCE.one, replicas=3)
    vms.turn()
    vms.clock.sleep(90)
    (name,) = [one for one in vms.rows("instances") if one.endswith(f"-{worker}")]
    vms.fake.vanish(name)
    for _ in range(24):  # four minutes
        vms.goes_on(1, 10)
        if len(vms.running()) == 1 and len(vms.rows("instances")) == 3:
            break
    (key,) = vms.running()
    assert len(vms.machines_of(key)) == 3
    assert vms.clock.monotonic() - vms.begin < FORMING.total_seconds()


def test_a_gang_of_vms_that_is_listed_in_part_is_left_alone(vms: Fleet) -> None:
    """A listing that lags, and an answer that is not given, say nothing of a machine."""
    vms.submit(["gang"], GCE.one, replicas=3)
    vms.turn()
    vms.clock.sleep(90)
    vms.runner.list()
    part = replace(vms.runner._listed, vms=vms.runner._listed.vms[1:])
    vms.runner._listed = part
    (row,) = desired(vms.state)
    for _ in range(3):
        vms.runner.create(row.placement)
        vms.clock.sleep(30)
    vms.fake.faults.fail("compute.instances.get", 503, times=9)
    with pytest.raises(NotReady, match="looks for it once more"):
        vms.runner.create(row.placement)
    assert len(vms.rows("instances")) == 3
    assert vms.fake.calls(GCE.deletion) == []
    assert len(vms.creations()) == 1


def test_what_is_cancelled_while_it_waits_leaves_nothing(fleet: Fleet) -> None:
    fleet.fake.faults.stock_out()
    fleet.submit(["j"], fleet.kind.one)
    fleet.goes_on(60)
    assert WAITS[fleet.kind.name] in fleet.state.live_attempts()[0][2].waits_for
    fleet.folds(CancelRequested(request="c", user="ada", job="j-12345678"))
    fleet.goes_on(20)
    assert [fleet.rows(kind) for kind in fleet.kind.costs] == [{}] * len(fleet.kind.costs)
    assert [job.state for job in fleet.state.jobs.values()] == [JobState.CANCELLED]


def test_a_restart_between_creation_and_listing_makes_nothing_twice(fleet: Fleet) -> None:
    fleet.fake.faults.lag_lists(90)
    fleet.submit(["j"], fleet.kind.one, replicas=2)
    for _ in range(4):
        fleet.turn()
        fleet.restart()
        fleet.clock.sleep(20)
    fleet.goes_on(20)
    assert len(fleet.running()) == 1
    assert len(fleet.rows(fleet.kind.machines)) == 2


def test_two_creations_of_one_attempt_end_as_one(fleet: Fleet) -> None:
    """The worst case: an answer was lost in one zone, all memory of it too, and another zone was asked."""
    fleet.fake.faults.come_late(fleet.kind.creations[0], 200, times=9)
    fleet.submit(["j"], fleet.kind.one)
    fleet.turn()
    fleet.fake.faults.calm()
    fleet.settings.zones.reverse()
    fleet.restart()
    fleet.clock.sleep(70)
    fleet.goes_on(40)
    asked = [str(call.parameters.get("zone") or call.parameters["parent"]) for call in fleet.creations()]
    assert {zone.rpartition("/")[2] for zone in asked} == {*fleet.kind.zones}
    (key,) = fleet.running()
    assert len(fleet.machines_of(key)) == 1
    assert {len(fleet.rows(kind)) for kind in fleet.kind.costs if kind != "resourcePolicies"} == {1}


def test_what_google_will_not_do_is_a_trouble_and_a_reason(fleet: Fleet) -> None:
    fleet.fake.faults.deny(fleet.kind.permission)
    fleet.submit(["j"], fleet.kind.one)
    fleet.goes_on(3)
    assert any(f"lacks {fleet.kind.permission}" in trouble for trouble in fleet.troubles)
    assert f"lacks {fleet.kind.permission}" in fleet.state.live_attempts()[0][2].waits_for
