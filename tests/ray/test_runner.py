"""The Ray runner where Ray is away, or a node lacks what a worker needs."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from bastion.model.errors import RunnerError
from bastion.runners.local.render import MARK
from bastion.testing.fleets import until
from bastion.testing.stage import KEY, OTHER, Stage, placement
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


HIDDEN = "env -i setsid sh -c 'echo $$ > {0}; exec sleep 600' </dev/null >/dev/null 2>&1 & until [ -s {0} ]; do sleep 0.05; done"
"""It clears its environment, leaves its session, and loses its parent."""


def test_what_cleared_its_environment_ends_with_its_machine(fleet: RayFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    stage.start(f"{HIDDEN.format(tmp_path / 'pid')}; sleep 600")
    until((tmp_path / "pid").exists, "the process that hides")
    fleet.runner.delete(stage.machine().id)
    until(lambda: fleet.runner.list() == [], "the end of the machine")
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_what_only_says_that_it_is_of_a_machine_does_not_keep_it(fleet: RayFleet, tmp_path: Path) -> None:
    stage = Stage(fleet)
    stage.start(f"until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    claims = {**os.environ, MARK: stage.machine().id}
    with subprocess.Popen(["sleep", "600"], env=claims, start_new_session=True) as stranger:
        try:
            (tmp_path / "go").touch()
            until(lambda: fleet.runner.list() == [], "the end of the machine")
            assert stranger.poll() is None
        finally:
            stranger.kill()
    assert not list((tmp_path / "node" / "machines").iterdir()), "its entry went with it"
