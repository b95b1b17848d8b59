"""The main job on Google Cloud Storage: the real bastion, worker and tools, and a real storage server."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest

from tests.support.fleet import Fleet


@pytest.fixture
def fleet(tmp_path: Path, gcs_address: str) -> Fleet:
    bucket = tmp_path.name.replace("_", "-")[:60]
    create = urllib.request.Request(
        f"{gcs_address}/storage/v1/b?project=p",
        data=json.dumps({"name": bucket}).encode(),
        headers={"Content-Type": "application/json"},
    )
    urllib.request.urlopen(create, timeout=180).close()
    fleet = Fleet(tmp_path)
    fleet.environ |= {"STORAGE_EMULATOR_HOST": gcs_address, "BASTION_BUCKET": f"gs://{bucket}/some/folder"}
    return fleet


def test_the_main_job_goes_the_whole_way_through_a_bucket_in_the_cloud(fleet: Fleet) -> None:
    fleet.create()
    try:
        (fleet.folder / "code").mkdir()
        (fleet.folder / "code" / "hello.py").write_text(
            'import os; print("hello from", os.environ["BASTION_JOB_NAME"])\n'
        )
        said = fleet.run(
            "launch",
            "--name=solo",
            "--resources=v4=4",
            "--follow",
            "--",
            "python3",
            "hello.py",
            cwd=fleet.folder / "code",
        )
        assert (said.returncode, said.stdout.splitlines()) == (0, ["hello from solo", "solo"]), said.stderr
        fleet.submit("gang", "--num_replicas=2", "--resources=v4=4", run="echo rank $RANK of $WORLD_SIZE")
        assert fleet.wait("gang") == 0
        assert sorted(fleet.log("gang").splitlines())[:2] == ["[w000] rank 0 of 2", "[w001] rank 1 of 2"]
        assert fleet.problems() == []
    finally:
        ended = fleet.run("bastion", "delete", "--force", "--yes", "--purge")
    assert ended.returncode == 0, ended.stderr
    assert fleet.processes() == []


def test_a_bucket_that_is_not_there_is_named(fleet: Fleet) -> None:
    said = fleet.run("bastion", "create", "--local", "--bucket=gs://nobodys-bucket")
    assert said.returncode == 1
    assert "gs://nobodys-bucket" in said.stderr
    assert said.stderr.count("\n") == 1
