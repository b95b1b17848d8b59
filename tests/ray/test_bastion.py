"""A real bastion on a real Ray, driven by our own tools: gangs, devices, stops, restarts, and what others have taken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bastion.runners.ray.render import parse
from bastion.testing.fleets import until
from tests.ray.cluster import Cluster
from tests.ray.town import RayTown
from tests.support.fleet import QUICK, Fleet


@pytest.fixture(scope="module")
def town(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayTown]:
    town = RayTown(Fleet(tmp_path_factory.mktemp("town")), cluster)
    yield town
    town.close()


def test_a_gang_runs_where_ray_has_room_with_its_ranks(town: RayTown) -> None:
    gang = "echo $RANK of $WORLD_SIZE on $MASTER_ADDR:$MASTER_PORT, $CUDA_VISIBLE_DEVICES, ${RAY_ADDRESS-alone}"
    job = town.fleet.submit("gang", "--num_replicas=2", "--resources=cpu=3", run=gang)
    assert town.fleet.wait(job) == 0, town.fleet.job(job)
    first, second = sorted(line.partition("] ")[2] for line in town.fleet.log(job).splitlines())
    assert first.startswith("0 of 2 on ")
    assert second == first.replace("0 of", "1 of", 1)
    assert first.endswith(", , alone"), "no devices, and nothing of Ray's environment"


def test_a_job_gets_the_gpus_that_ray_gives_it(town: RayTown) -> None:
    job = town.fleet.submit("devices", "--resources=h100=2,cpu=1", run="echo has $CUDA_VISIBLE_DEVICES")
    assert town.fleet.wait(job) == 0, town.fleet.job(job)
    assert town.fleet.log(job) == "has 0,1\n"


def test_a_job_that_is_stopped_leaves_nothing_on_ray(town: RayTown) -> None:
    saves = "trap 'echo saved; exit 9' TERM; echo on; while :; do sleep 0.1; done"
    job = town.fleet.submit("long", "--resources=cpu=1", run=saves)
    until(lambda: "on" in town.fleet.log(job), "its first word")
    assert town.fleet.run("launch", "stop", job, "--wait").returncode == 0
    assert town.fleet.job(job)["state"] == "CANCELLED"
    assert "saved" in town.fleet.log(job)
    until(lambda: not {"PENDING", "RUNNING"} & set(town.ours()), "the end of all Ray jobs")


def test_a_bastion_that_fell_finds_its_jobs_again(town: RayTown) -> None:
    flag = town.fleet.folder / "go"
    job = town.fleet.submit("stays", "--resources=cpu=1", run=f"echo on; until [ -e {flag} ]; do sleep 0.1; done")
    until(lambda: "on" in town.fleet.log(job), "its first word")
    before = len(town.ours())
    town.fall()
    town.start()
    flag.touch()
    assert town.fleet.wait(job) == 0
    assert len(town.fleet.job(job)["attempts"]) == 1
    assert len(town.ours()) == before


def test_a_submission_id_like_ours_deposes_no_bastion_and_keeps_none_from_its_start(town: RayTown) -> None:
    job = town.fleet.submit("own", "--resources=cpu=1", run="echo on; exec sleep 600")
    until(lambda: "on" in town.fleet.log(job), "its first word")
    rows = json.loads(town.dashboard.ask("GET", "/api/jobs/").data)
    names = [parse(str(row["submission_id"])) for row in rows]
    (own,) = [name for name in names if name and name.key.job == job]
    spoof = str(replace(own, epoch=999_999_999))
    assert town.dashboard.ask("POST", "/api/jobs/", {"submission_id": spoof, "entrypoint": "sleep 600"}).status == 200
    told = f"Ray job {spoof} has the name of worker 0 of {job}/0/0, but this bastion did not create it"
    until(lambda: any(told in line for line in town.fleet.problems()), "the stray")
    assert town.bastion.poll() is None
    town.fall()
    town.start()
    assert town.fleet.wait(town.fleet.submit("next", "--resources=cpu=1", run="true")) == 0
    assert town.fleet.run("launch", "stop", job, "--wait").returncode == 0
    assert b'"RUNNING"' in town.dashboard.ask("GET", f"/api/jobs/{spoof}").data
    assert town.dashboard.ask("POST", f"/api/jobs/{spoof}/stop").status == 200


def test_what_others_have_taken_is_waited_for_in_words(town: RayTown) -> None:
    body = {"entrypoint": "sleep 600", "submission_id": "strangers", "entrypoint_num_gpus": 2}
    assert town.dashboard.ask("POST", "/api/jobs/", body).status == 200
    until(lambda: b'"RUNNING"' in town.dashboard.ask("GET", "/api/jobs/strangers").data, "the stranger's job")
    job = town.fleet.submit("waits", "--resources=h100=1", run="true")
    until(lambda: town.fleet.job(job)["reason"] == "Ray has no node with 1 GPU, the type H100 free", "the reason")
    assert town.dashboard.ask("POST", "/api/jobs/strangers/stop").status == 200
    assert town.fleet.wait(job) == 0


def test_one_command_makes_a_bastion_for_a_ray_that_is_there(cluster: Cluster, tmp_path: Path) -> None:
    here = Fleet(tmp_path)
    here.environ |= {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    for name in ("BASTION_NAME", "BASTION_BUCKET"):
        here.environ.pop(name)
    token = tmp_path / ".ray" / "auth_token"
    token.parent.mkdir()
    token.write_bytes(cluster.token.read_bytes())
    try:
        said = here.run("bastion", "create", "--runner=ray", f"--dashboard={cluster.address}", *QUICK)
        assert said.returncode == 0, said
        assert "is active, so launch needs no flags" in said.stderr
        until(lambda: "cpu=" in here.run("bastion", "status").stdout, "what Ray gives away")
    finally:
        here.run("bastion", "delete", "--force", "--purge", "--yes")
