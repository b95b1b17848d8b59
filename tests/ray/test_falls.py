"""A node of a real Ray falls, and its head: what runs there is lost and not failed, and what had ended has ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.interfaces import AttemptKey, MachineExistence
from bastion.model.state.state import Cause
from bastion.runners.local import process_marks
from bastion.runners.ray.runner import LOST_S
from bastion.testing.fleets import until
from bastion.testing.stage import HELLO, KEY, OTHER, STUBBORN, Stage, order, placement
from tests.ray.cluster import Cluster
from tests.ray.fleet import RayFleet
from tests.ray.town import RayTown
from tests.support.fleet import Fleet


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[RayFleet]:
    fleet = RayFleet(cluster, tmp_path)
    yield fleet
    fleet.close()


def start(stage: Stage, key: AttemptKey, command: str) -> None:
    """Start a command on the node with GPUs."""
    stage.bucket.write(layout.order(key), encode(order(key, command)))
    stage.runner.create(placement(key, resources={"h100": 1}))


def test_a_raylet_that_falls_takes_its_worker_along_and_ray_tells_it_later(fleet: RayFleet, cluster: Cluster) -> None:
    stage = Stage(fleet)
    start(stage, KEY, STUBBORN)
    until(lambda: stage.log(), "the program's first word")
    machine = stage.machine().id
    cluster.kill("node", "raylet")
    until(lambda: not [one for one in process_marks.scan() if one.machine == machine], "the end of all that ran there")
    until(lambda: stage.runner.list() == [], "Ray's word")
    assert stage.runner.look(machine) is MachineExistence.UNREACHABLE
    assert stage.runner.waiting() == {}
    capacity = stage.runner.capacity()
    assert capacity is not None
    assert set(capacity) == {"cpu", "memory"}
    fleet.clock.seconds = LOST_S
    assert stage.runner.look(machine) is MachineExistence.GONE
    assert stage.phase(0) == "running", "it is lost: nobody said that it had ended"

    cluster.start_node()
    start(stage, OTHER, HELLO)
    assert stage.ended(OTHER).cause is Cause.OK


def test_a_head_that_has_forgotten_all_costs_no_job_and_no_try(cluster: Cluster, tmp_path: Path) -> None:
    town = RayTown(Fleet(tmp_path), cluster, lost_s=3)
    fleet = town.fleet
    try:
        waits = "echo on; until [ -e {0} ]; do sleep 0.1; done; echo off"
        ends, lost = (
            fleet.submit(name, "--resources=h100=1", run=waits.format(tmp_path / name)) for name in ("ends", "lost")
        )
        until(lambda: "on" in fleet.log(ends) and "on" in fleet.log(lost), "the words of both")
        until(
            lambda: {fleet.job(each)["state"] for each in (ends, lost)} == {"RUNNING"},
            "the bastion's knowledge of both",
        )

        cluster.kill("head", "gcs_server")
        until(lambda: any("Ray does not answer at" in line for line in fleet.problems()), "the word that it is away")
        (tmp_path / "ends").touch()
        until(lambda: "off" in fleet.log(ends), "an end that Ray does not see")
        assert fleet.job(lost)["state"] == "RUNNING", "blind: nobody is taken for gone"

        cluster.kill("node")
        cluster.start_head()
        cluster.start_node()
        assert fleet.wait(ends) == 0
        assert len(fleet.job(ends)["attempts"]) == 1, "the bucket tells how it ended"
        until(lambda: len(fleet.job(lost)["attempts"]) == 2, "another attempt on the new Ray")
        assert fleet.job(lost)["attempts"][0]["cause"] == "lost"
        (tmp_path / "lost").touch()
        assert fleet.wait(lost) == 0, "of one try, none was used up"
    finally:
        town.close()
