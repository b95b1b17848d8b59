"""What a job leaves in its output folder is listed and fetched: from a folder, S3 and Google's store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from google.cloud import storage

from tests.e2e.fleet import Fleet

LEAVES = 'mkdir -p "$BASTION_OUTPUT_DIR/deep"; echo one > "$BASTION_OUTPUT_DIR/a"; echo two2 > "$BASTION_OUTPUT_DIR/deep/b c"'


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    here = Fleet(tmp_path_factory.mktemp("outputs"))
    here.create()
    yield here
    here.close()


def listed(found: Any) -> list[tuple[str, int]]:
    return [(file["name"], file["bytes"]) for file in found["files"]]


def test_the_files_of_a_job_are_listed_and_fetched(fleet: Fleet) -> None:
    job = fleet.submit("leaves", run=LEAVES)
    assert fleet.wait("leaves") == 0
    found = fleet.ask("launch", "outputs", "leaves")
    assert listed(found) == [("a", 4), ("deep/b c", 5)]
    assert found["url"] == f"file://{fleet.root}/outputs/{job}/0"
    said = fleet.run("launch", "outputs", "leaves", "--fetch=here")
    assert said.returncode == 0, said
    assert [line.split(maxsplit=2)[2] for line in said.stdout.splitlines()] == ["NAME", "a", "deep/b c"]
    fetched = fleet.folder / "here"
    assert {str(p.relative_to(fetched)): p.read_text() for p in fetched.rglob("*") if p.is_file()} == {
        "a": "one\n",
        "deep/b c": "two2\n",
    }


def test_a_task_of_an_array_has_its_own(fleet: Fleet) -> None:
    fleet.submit("array", "--count=2", run='echo "$BASTION_TASK" > "$BASTION_OUTPUT_DIR/number"')
    assert fleet.wait("array") == 0
    assert listed(fleet.ask("launch", "outputs", "array[1]")) == [("number", 2)]
    said = fleet.run("launch", "outputs", "array")
    assert (said.returncode, "name one, as in 'array[0]'" in said.stderr) == (2, True)


def test_no_outputs_are_none(fleet: Fleet) -> None:
    fleet.submit("nothing", run="true")
    assert fleet.wait("nothing") == 0
    assert fleet.ask("launch", "outputs", "nothing")["files"] == []
    assert fleet.run("launch", "outputs", "nobody").returncode == 102


@pytest.mark.parametrize(("url", "answer"), [("abf://x/y", "did you mean abfs"), ("nope://x", "is no kind of store")])
def test_an_output_folder_of_an_unknown_kind_is_refused_at_submit(fleet: Fleet, url: str, answer: str) -> None:
    said = fleet.run("launch", f"--output_dir={url}", "--bundler_type=none", "--resources=v4=1", "--", "true")
    assert (said.returncode, answer in said.stderr) == (2, True), said
    assert "--output_dir" in said.stderr


def test_outputs_in_s3_are_listed_and_fetched(fleet: Fleet, s3_environ: dict[str, str], tmp_path: Path) -> None:
    name, client = f"b-{uuid4()}", boto3.client("s3")
    client.create_bucket(Bucket=name)
    fleet.submit("cloudy", f"--output_dir=s3://{name}/out", run=f'test "$BASTION_OUTPUT_DIR" = s3://{name}/out')
    assert fleet.wait("cloudy") == 0
    for key, data in (("out/a", b"one"), ("out/deep/b c", b"two2"), ("outside", b"")):
        client.put_object(Bucket=name, Key=key, Body=data)
    check(fleet, "cloudy", tmp_path, s3_environ)


def test_outputs_in_googles_store_are_listed_and_fetched(
    fleet: Fleet, gcs_address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)
    name = f"b-{uuid4()}"
    fleet.submit("google", f"--output_dir=gs://{name}/out", run="true")
    assert fleet.wait("google") == 0
    with storage.Client() as client:
        bucket = client.create_bucket(name)
        for key, data in (("out/a", b"one"), ("out/deep/b c", b"two2"), ("outside", b"")):
            bucket.blob(key).upload_from_string(data)
    check(fleet, "google", tmp_path, {"STORAGE_EMULATOR_HOST": gcs_address})


def check(fleet: Fleet, job: str, folder: Path, environ: dict[str, str]) -> None:
    """List and fetch what was put there."""
    with fleet.popen(
        "launch", "outputs", job, f"--fetch={folder}", "--json", env={**fleet.environ, **environ}
    ) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert '"name": "a", "bytes": 3' in out
    assert '"name": "deep/b c", "bytes": 4' in out
    assert {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()} == {
        "a": b"one",
        "deep/b c": b"two2",
    }
