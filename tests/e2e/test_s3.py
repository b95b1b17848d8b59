"""The main job on S3: the real bastion, worker and tools, and a real server of its protocol; and a doctor's visit."""

from __future__ import annotations

import getpass
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest

from tests.support.faultproxy import FaultProxy, Refuse, s3
from tests.support.fleet import Fleet


@pytest.fixture
def fleet(tmp_path: Path, s3_environ: dict[str, str]) -> Iterator[Fleet]:
    name = f"b-{uuid4()}"
    boto3.client("s3").create_bucket(Bucket=name)
    here = Fleet(tmp_path)
    here.environ |= {**s3_environ, "BASTION_BUCKET": f"s3://{name}/some/folder"}
    yield here
    ended = here.run("bastion", "delete", "--force", "--yes", "--purge")
    assert ended.returncode == 0, ended.stderr
    left = [stat["Key"] for stat in boto3.client("s3").list_objects_v2(Bucket=name)["Contents"]]
    assert [key.removeprefix("some/folder/demo/").split("/")[0] for key in left] == ["snapshots", "status.json"]
    assert here.processes() == []


def visit(fleet: Fleet, proxy: FaultProxy) -> tuple[int, dict[str, Any]]:
    """What a doctor finds whose requests go through a proxy."""
    said = fleet.run("bastion", "doctor", "--json", env={**fleet.environ, "AWS_ENDPOINT_URL": proxy.url})
    assert said.stdout, said
    return said.returncode, json.loads(said.stdout)


def wrong(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The checks that found something; that jobs are of the bastion's own account is so here."""
    return [check for check in found["checks"] if check["level"] != "ok" and check["check"] != "jobs run as"]


def test_the_main_job_goes_the_whole_way_through_a_bucket_of_s3(fleet: Fleet) -> None:
    fleet.create()
    code = fleet.folder / "code"
    code.mkdir()
    (code / "hello.py").write_text('import os; print("hello from", os.environ["BASTION_JOB_NAME"])\n')
    words = ["--name=solo", "--resources=v4=4", "--follow", "--", "python3", "hello.py"]
    said = fleet.run("launch", *words, cwd=code)
    assert (said.returncode, said.stdout.splitlines()) == (0, ["hello from solo", "solo"]), said.stderr
    fleet.submit("gang", "--num_replicas=2", "--resources=v4=4", run="echo rank $RANK of $WORLD_SIZE")
    assert fleet.wait("gang") == 0
    assert sorted(fleet.log("gang").splitlines())[:2] == ["[w000] rank 0 of 2", "[w001] rank 1 of 2"]
    assert fleet.problems() == []

    with FaultProxy(fleet.environ["AWS_ENDPOINT_URL"], saying=s3) as proxy:
        _, found = visit(fleet, proxy)
        assert wrong(found) == [], found
        prefix = "some/folder/demo/logs/"
        proxy.only = lambda request: prefix in request or prefix.replace("/", "%2F") in request
        proxy.always = Refuse(403, "no logs for you")
        code_, found = visit(fleet, proxy)
    [lack] = wrong(found)
    assert (code_, found["well"], lack["check"]) == (1, False, "rights on logs/")
    assert "no logs for you" in lack["found"]
    assert f"ask for the right of {getpass.getuser()} to " in lack["advice"]
    assert found["bucket"] == fleet.environ["BASTION_BUCKET"]


def test_a_bucket_that_is_not_there_is_named(tmp_path: Path, s3_environ: dict[str, str]) -> None:
    fleet = Fleet(tmp_path)
    fleet.environ |= s3_environ
    said = fleet.run("bastion", "create", "--local", "--bucket=s3://nobodys-bucket")
    assert said.returncode == 1
    assert "s3://nobodys-bucket" in said.stderr
    assert said.stderr.count("\n") == 1


def test_a_users_own_store_is_proved_and_left_as_it_was(tmp_path: Path, s3_environ: dict[str, str]) -> None:
    name, client = f"b-{uuid4()}", boto3.client("s3")
    client.create_bucket(Bucket=name)
    client.put_object(Bucket=name, Key="mine", Body=b"mine")
    fleet = Fleet(tmp_path)
    fleet.environ |= s3_environ
    with fleet.popen("bastion", "doctor", f"--store=s3://{name}", "--json") as process:
        out, err = process.communicate(timeout=300)
    found = json.loads(out)
    assert (process.returncode, found["well"], len(found["checks"]) > 20) == (0, True, True), err
    assert [each["Key"] for each in client.list_objects_v2(Bucket=name)["Contents"]] == ["mine"]
