"""The Ray runner where Ray is away, or a node lacks what a worker needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bastion.errors import RunnerError
from bastion_testing.fleets import until
from bastion_testing.stage import KEY, OTHER, placement
from tests.ray.cluster import Cluster
from tests.ray.fleet import RayFleet


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[RayFleet]:
    fleet = RayFleet(cluster, tmp_path)
    yield fleet
    fleet.close()


def test_a_pass_asks_twice_whatever_the_number_of_jobs(fleet: RayFleet) -> None:
    fleet.runner.create(placement(KEY, workers=3))
    before = fleet.questions()
    fleet.runner.list()
    capacity = fleet.runner.capacity()
    fleet.runner.waiting()
    assert fleet.dashboard.asked[before:] == ["GET /api/jobs/", "GET /api/v0/nodes?detail=true&limit=10000"]
    assert capacity is not None
    assert (capacity["cpu"], capacity["h100"]) == (8, 2)


def test_who_cannot_be_asked_is_named_and_its_capacity_not_known(fleet: RayFleet) -> None:
    with fleet.away():
        with pytest.raises(RunnerError, match="Ray does not answer at http"):
            fleet.runner.list()
        assert fleet.runner.capacity() is None


def test_a_node_without_bastion_is_a_reason_and_no_loss(fleet: RayFleet) -> None:
    fleet.runner.settings = replace(fleet.runner.settings, python="/no/such/python")
    fleet.runner.create(placement(OTHER))

    def said() -> str:
        fleet.runner.list()
        return fleet.runner.waiting().get(OTHER, "")

    until(lambda: "/no/such/python" in said(), "the reason")
    assert said().startswith("Ray did not start its worker: ")
    assert fleet.runner.list() == []
