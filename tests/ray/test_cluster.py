"""`launch cluster` on the local fleet: a real Ray of two nodes is a job of two workers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion_testing.fleets import until
from runners.ray import parse
from runners.ray.api import HttpDashboard
from tests.e2e.fleet import Fleet
from tests.ray.cluster import python


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    here = Fleet(tmp_path)
    here.create("--capacity=cpu=5")
    yield here
    here.close()


@pytest.fixture
def short() -> Iterator[str]:
    """A folder for Ray, whose sockets want short names."""
    folder = tempfile.mkdtemp(prefix="ray-", dir="/tmp")
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_cluster_is_a_job_with_addresses_until_it_is_taken_down(fleet: Fleet, short: str) -> None:
    path = f"{python().parent}:/usr/bin:/bin"
    env = [f"--env=PATH={path}", f"--env=RAY_TMPDIR={short}", "--grace=20s"]
    said = fleet.run("launch", "cluster", "up", "dev", "--num_replicas=2", "--resources=cpu=2", *env)
    assert (said.returncode, said.stdout) == (0, "dev\n"), said

    again = fleet.run("launch", "cluster", "up", "dev")
    assert again.returncode == 2
    assert "is there already" in again.stderr

    until(lambda: fleet.ask("launch", "cluster", "details", "dev").get("answers"), "the dashboard")
    found = fleet.ask("launch", "cluster", "details", "dev")
    assert found["state"] == "RUNNING"
    assert found["client"].startswith("ray://127.0.0.1:")
    door = HttpDashboard(found["dashboard"])

    def nodes() -> list[parse.Node]:
        return list(parse.nodes(door.ask("GET", "/api/v0/nodes?detail=true").data))

    until(lambda: len(nodes()) == 2, "both nodes")
    assert parse.capacity(nodes(), {})["cpu"] == 4

    fleet.submit("other", "--resources=cpu=2", run="true")  # one cpu is left of five
    until(lambda: "holds 4" in fleet.job("other")["reason"], "the quota's word")
    line = fleet.run("launch", "cluster", "status", "dev").stdout
    assert f"is RUNNING: dashboard {found['dashboard']}, which answers" in line
    assert found["head"] in fleet.run("launch", "cluster", "details", "dev").stdout

    assert fleet.run("launch", "cluster", "down", "dev", "--wait").returncode == 0
    assert fleet.wait("other") == 0
    ended = fleet.ask("launch", "cluster", "status", "dev")
    assert ended["state"] == "CANCELLED"
    assert "dashboard" not in ended


def test_what_is_no_cluster_is_not_taken_down_as_one(fleet: Fleet) -> None:
    fleet.submit("plain", "--resources=cpu=1", run="sleep 600")
    said = fleet.run("launch", "cluster", "down", "plain")
    assert said.returncode == 102
    assert "is a job and no cluster" in said.stderr
    shown = fleet.run("launch", "cluster", "up", "one", "--dry_run")
    assert "ray start --head" in shown.stdout
