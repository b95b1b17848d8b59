"""`launch cluster` on the local fleet: a real Ray of two nodes is a job of two workers."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.testing.fleets import until
from tests.ray.cluster import clean, python
from tests.ray.resident import nodes, short_folder, up
from tests.support.fleet import Fleet, Said

QUOTA = """
[toml-schema]
version = "1"
[total_resources]
cpu = 5
[project_membership]
nlp = ["alice"]
vision = ["bob"]
[project_resources.nlp]
cpu = 0.4
[project_resources.vision]
cpu = 0.6
"""

DRIVER = """
import ray, sys
ray.init(sys.argv[1])
print(sum(ray.get([ray.remote(lambda n: n * n).remote(n) for n in range(4)])), ray.cluster_resources()["CPU"])
"""

_SESSIONS = 5
"""So often more a session is asked for."""


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    here = Fleet(tmp_path)
    here.create("--capacity=cpu=5")
    yield here
    here.close()


@pytest.fixture
def short() -> Iterator[str]:
    with short_folder() as folder:
        yield folder


def outside(*words: str) -> Said:
    """What somebody's own program with Ray prints."""
    return subprocess.run([python(), *words], env=clean(), capture_output=True, text=True, check=False)


def comes_in(client: str) -> Said:
    """An interactive session. Ray turns some away while its agent has not come up, which it tells nobody: it is asked again.

    Each time it answers within a minute or two, by limits of its own.
    """
    said = outside("-c", DRIVER, client)
    for _ in range(_SESSIONS):
        if said.returncode:
            said = outside("-c", DRIVER, client)
    return said


def said_by_servers(folder: str) -> str:
    """What Ray's servers of sessions have logged, the end of each."""
    logs = sorted(Path(folder).rglob("ray_client_server*"))
    return "\n".join(f"{log.name}: {log.read_text()[-2000:]}" for log in logs if log.is_file())


def test_a_cluster_is_a_job_with_addresses_until_it_is_taken_down(fleet: Fleet, short: str) -> None:
    said = up(fleet, "dev", short, "--num_replicas=2", "--resources=cpu=2")
    assert (said.returncode, said.stdout) == (0, "dev\n"), said

    again = fleet.run("launch", "cluster", "up", "dev")
    assert again.returncode == 2
    assert "exists already" in again.stderr

    until(lambda: fleet.ask("launch", "cluster", "details", "dev").get("answers"), "the dashboard")
    found = fleet.ask("launch", "cluster", "details", "dev")
    assert found["state"] == "RUNNING"
    assert found["client"].startswith("ray://127.0.0.1:")
    until(lambda: [node["CPU"] for node in nodes(found)] == [2, 2], "both nodes")

    other = up(fleet, "other", short, "--resources=cpu=2", "--user_id=bob")  # one cpu is left of five
    assert other.returncode == 0, other
    until(lambda: "holds 4" in fleet.run("launch", "cluster", "status", "other").stdout, "the quota's word")
    assert "other-" in fleet.run("launch", "cluster", "status", "other").stdout
    assert "dashboard" not in fleet.ask("launch", "cluster", "details", "other")
    assert fleet.run("launch", "cluster", "down", "other", "--user_id=bob", "--wait").returncode == 0

    session = comes_in(found["client"])
    assert session.stdout.endswith("14 4.0\n"), f"{session.stderr}\n{said_by_servers(short)}"
    job = outside(
        "-m", "ray.scripts.scripts", "job", "submit", f"--address={found['dashboard']}", "--", "echo", "hello"
    )
    assert (job.returncode, "hello\n" in job.stdout) == (0, True), job
    line = fleet.run("launch", "cluster", "status", "dev").stdout
    assert f"is RUNNING: dashboard {found['dashboard']}, which answers" in line
    assert found["head"] in fleet.run("launch", "cluster", "details", "dev").stdout

    fleet.submit("next", "--resources=cpu=5", run="true")
    assert fleet.run("launch", "cluster", "down", "dev", "--wait").returncode == 0
    assert fleet.wait("next") == 0, "all of it is free"
    ended = fleet.ask("launch", "cluster", "status", "dev")
    assert ended["state"] == "CANCELLED"
    assert "dashboard" not in ended


def test_a_cluster_that_made_way_comes_back_and_its_details_are_true_again(fleet: Fleet, short: str) -> None:
    fleet.set_quota(QUOTA)
    assert up(fleet, "dev", short, "--resources=cpu=4", "--user_id=alice").returncode == 0
    until(lambda: fleet.ask("launch", "cluster", "details", "dev").get("answers"), "the dashboard")
    first = fleet.ask("launch", "cluster", "details", "dev")

    flag = fleet.folder / "go"
    owner = fleet.submit("mine", "--user_id=bob", "--resources=cpu=3", run=f"until [ -e {flag} ]; do sleep 0.1; done")
    until(lambda: fleet.job(owner)["state"] == "RUNNING", "the owner's share")
    waits = fleet.ask("launch", "cluster", "status", "dev")
    assert waits["state"] == "PENDING"
    assert "nlp would hold 4 cpu, more than its share of 2" in waits["reason"]
    assert "dashboard" not in waits

    flag.touch()
    until(lambda: fleet.ask("launch", "cluster", "details", "dev").get("answers"), "the dashboard again")
    second = fleet.ask("launch", "cluster", "details", "dev")
    assert second["head"] != first["head"]
    until(lambda: [node["CPU"] for node in nodes(second)] == [4], "the head again")
    assert fleet.job("dev")["attempts"][0]["cause"] == "preempted"
    assert fleet.run("launch", "cluster", "down", "dev", "--user_id=alice", "--wait").returncode == 0


def test_what_is_no_cluster_is_not_taken_down_as_one(fleet: Fleet) -> None:
    fleet.submit("plain", "--resources=cpu=1", run="sleep 600")
    for action in ("down", "status", "details"):
        said = fleet.run("launch", "cluster", action, "plain")
        assert said.returncode == 102
        assert "is a job, not a cluster" in said.stderr
    shown = fleet.run("launch", "cluster", "up", "one", "--dry_run")
    assert "ray start --head" in shown.stdout


def test_a_name_that_no_job_may_have_is_refused(fleet: Fleet) -> None:
    for name in ("", "-x", "a b", "../x", "x" * 200):
        said = fleet.run("launch", "cluster", "up", name, "--resources=cpu=1")
        assert said.returncode in (1, 2), said
        assert not said.stdout
        assert len(said.stderr.splitlines()) == 1
    assert fleet.jobs() == []
