"""Many TPU jobs at once: requests do not grow with their number, losses are replaced, and nothing is left behind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from bastion.events import CancelRequested
from bastion.google.rate import PER_MINUTE
from bastion.state import JobState
from tests.google.tpu_fleet import Fleet
from tests.google.tpus import OTHER_ZONE, ZONE, ground

CREATE = "tpu.projects.locations.queuedResources.create"


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fleet]:
    with ground(monkeypatch) as here:
        yield Fleet(here)


def test_requests_of_a_pass_do_not_grow_with_the_jobs(fleet: Fleet) -> None:
    """A thousand jobs are asked for as fast as Google allows and no faster; then a pass is two questions a zone."""
    fleet.submit((f"j{n}" for n in range(1000)), {"v6e": 8})
    fake = fleet.ground.fake
    fake.rates.most["tpu"] = 400  # all that one minute's passes, creations and their like may be together
    fleet.goes_on(34, 45)
    assert len(fleet.running()) == 1000
    assert fake.rates.refused == 0
    creations = [call.at for call in fake.calls(CREATE)]
    assert len(creations) == 1000
    assert max(Counter(int(at // 60) for at in creations).values()) <= PER_MINUTE["tpu", "create"]
    asked = len(fake.calls("tpu."))
    fleet.turn()
    assert len(fake.calls("tpu.")) - asked == 2 * 2  # zones, and kinds of listings: a thousand make one page
    assert fleet.troubles == []


def test_the_first_creation_follows_a_decision_at_once(fleet: Fleet) -> None:
    fleet.turn()
    fleet.submit(["j"], {"v6e": 8})
    fleet.turn()
    assert len(fleet.ground.fake.calls(CREATE)) == 1


def test_thirty_two_losses_are_replaced_in_one_pass(fleet: Fleet) -> None:
    fleet.submit((f"j{n}" for n in range(32)), {"v6e": 16})
    fleet.goes_on(12)
    assert len(fleet.running()) == 32
    fake = fleet.ground.fake
    fake.clock.advance(120)
    for name in list(fleet.ground.rows("nodes")):
        fake.preempt(name)
    before = len(fake.calls(CREATE))
    while len(fake.calls(CREATE)) == before:
        fleet.turn()
        fake.clock.advance(10)
    assert len(fake.calls(CREATE)) - before == 32
    fleet.goes_on(30)
    assert {key.attempt for key in fleet.running()} == {1}
    assert len(fleet.running()) == len(fleet.ground.rows("nodes")) == 32
    assert {job.state for job in fleet.state.jobs.values()} == {JobState.RUNNING}


def test_a_gang_is_on_one_creation_and_ends_as_one(fleet: Fleet) -> None:
    fleet.submit(["gang"], {"v6e": 16}, replicas=2)
    fleet.goes_on(12)
    (key,) = fleet.running()
    assert len(fleet.machines_of(key)) == 2
    for worker in range(7):
        fleet.end(key, worker)
    fleet.goes_on(10)
    assert len(fleet.ground.rows("nodes")) == 2, "one that has ended takes no other's log"
    fleet.end(key, 7)
    fleet.goes_on(20)
    assert fleet.ground.rows("nodes") == fleet.ground.rows("queuedResources") == {}
    assert [job.state for job in fleet.state.jobs.values()] == [JobState.SUCCEEDED]


def test_what_is_cancelled_while_it_waits_leaves_nothing(fleet: Fleet) -> None:
    fleet.ground.fake.faults.stock_out()
    fleet.submit(["j"], {"v6e": 16})
    fleet.goes_on(60)
    attempt = fleet.state.live_attempts()[0][2]
    assert attempt.waits_for == f"v6e-16 (on-demand) is queued in {ZONE}"
    fleet.folds(CancelRequested(request="c", user="ada", job="j-12345678"))
    fleet.goes_on(20)
    assert fleet.ground.rows("queuedResources") == {}
    assert [job.state for job in fleet.state.jobs.values()] == [JobState.CANCELLED]


def test_a_restart_between_creation_and_listing_makes_no_second_slice(fleet: Fleet) -> None:
    fleet.ground.fake.faults.lag_lists(90)
    fleet.submit(["j"], {"v6e": 16})
    for _ in range(4):
        fleet.turn()
        fleet.restart()
        fleet.clock.sleep(20)
    fleet.goes_on(20)
    assert len(fleet.running()) == 1
    assert len(fleet.ground.rows("nodes")) == 1


def test_two_creations_of_one_attempt_end_as_one(fleet: Fleet) -> None:
    """The worst case: an answer was lost in one zone, all memory of it too, and another zone was asked."""
    fake = fleet.ground.fake
    fake.faults.come_late(CREATE, 400, times=9)
    fleet.submit(["j"], {"v6e": 16})
    fleet.turn()
    fake.faults.calm()
    fleet.ground.runner.settings.zones.reverse()
    fleet.restart()
    fleet.clock.sleep(70)
    fleet.goes_on(40)
    assert set(fleet.ground.creations()) == {ZONE, OTHER_ZONE}
    (key,) = fleet.running()
    assert len(fleet.machines_of(key)) == 1
    assert len(fleet.ground.rows("nodes")) == len(fleet.ground.rows("queuedResources")) == 1


def test_what_google_will_not_do_is_a_trouble_and_a_reason(fleet: Fleet) -> None:
    fleet.ground.fake.faults.deny("tpu.nodes.create")
    fleet.submit(["j"], {"v6e": 16})
    fleet.goes_on(3)
    assert any("lacks tpu.nodes.create" in trouble for trouble in fleet.troubles)
    assert "lacks tpu.nodes.create" in fleet.state.live_attempts()[0][2].waits_for
