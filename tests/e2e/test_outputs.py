"""What a job leaves in its output folder is listed and fetched: from a folder, S3 and Google's store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from google.cloud import storage

from tests.support.fleet import Fleet, until

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


@pytest.mark.parametrize(
    ("url", "answer"), [("abf://x/y", "did you mean abfs"), ("nope://x", "is not a known kind of store")]
)
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


MAKES = "echo one >result.txt; mkdir deep; echo two >deep/other.bin; touch .hidden"


def test_what_a_command_leaves_elsewhere_is_kept_where_it_is_asked_for_and_else_named(fleet: Fleet) -> None:
    job = fleet.submit("keeps", "--outputs=*.txt", run=MAKES)
    assert fleet.wait(job) == 0
    assert listed(fleet.ask("launch", "outputs", job)) == [("result.txt", 4)]
    said = fleet.run("launch", "logs", job, "--no_follow").stdout
    assert said.splitlines() == [
        "[bastion] 1 file kept in $BASTION_OUTPUT_DIR: result.txt",
        "[bastion] 1 file was not kept: deep/other.bin; write to $BASTION_OUTPUT_DIR or add --outputs='*.bin'",
    ]


def test_files_of_a_job_that_failed_are_kept_too_and_its_code_stays(fleet: Fleet) -> None:
    job = fleet.submit("fails", "--outputs=deep/*", run=f"{MAKES}; exit 7")
    assert fleet.wait(job) == 7
    assert listed(fleet.ask("launch", "outputs", job)) == [("deep/other.bin", 4)]


def test_each_worker_of_a_gang_keeps_its_own(fleet: Fleet) -> None:
    job = fleet.submit("gang", "--num_replicas=2", "--outputs=r", run='echo "$RANK" >r')
    assert fleet.wait(job) == 0
    assert listed(fleet.ask("launch", "outputs", job)) == [("r", 2), ("w001/r", 2)]


SAVES = """
for checkpoint in "$BASTION_CHECKPOINT_DIR"/*; do test -f "$checkpoint" && echo "found $(cat "$checkpoint")"; done
echo "step of $BASTION_TASK" >"$BASTION_CHECKPOINT_DIR/step-1"
"""


@pytest.mark.parametrize("count", [1, 2])
def test_a_job_goes_on_where_another_one_ended(fleet: Fleet, count: int) -> None:
    job = fleet.submit("saves", f"--count={count}", run=SAVES)
    assert fleet.wait(job) == 0
    task = f"[{count - 1}]" if count > 1 else ""
    assert fleet.log(f"{job}{task}") == ""
    said = fleet.run("launch", "requeue", job, "--wait", "--name=again")
    assert said.returncode == 0, said
    assert "continues from file://" in said.stderr
    assert "step-1, saved " in said.stderr
    assert fleet.log(f"again{task}") == f"found step of {count - 1}\n"
    fresh = fleet.run("launch", "rerun", job, "--wait", "--name=fresh")
    assert fresh.returncode == 0, fresh
    assert fleet.log(f"fresh{task}") == ""


def test_a_job_that_runs_or_that_saved_nothing_is_not_gone_on_with(fleet: Fleet) -> None:
    empty = fleet.submit("empty", run="true")
    assert fleet.wait(empty) == 0
    said = fleet.run("launch", "rerun", empty, "--resume")
    assert (said.returncode, "left no checkpoint in file://" in said.stderr) == (2, True), said
    both = fleet.run("launch", "rerun", empty, "--resume", "--output_dir=/elsewhere")
    assert (both.returncode, "leave out --output_dir" in both.stderr) == (2, True), both
    runs = fleet.submit("runs", run="sleep 600")
    said = fleet.run("launch", "requeue", runs)
    assert (said.returncode, "has not ended, and two jobs must not write the same checkpoints" in said.stderr) == (
        2,
        True,
    )
    said = fleet.run("launch", "outputs", runs, "--delete", "--yes")
    assert (said.returncode, "has not ended and may still write" in said.stderr) == (2, True), said
    assert fleet.run("launch", "stop", runs).returncode == 0


def test_a_folder_of_the_other_shape_is_answered(fleet: Fleet) -> None:
    plain = fleet.submit("plain", run=SAVES)
    array = fleet.submit("many", "--count=2", run=SAVES)
    assert (fleet.wait(plain), fleet.wait(array)) == (0, 0)
    home = f"file://{fleet.root}/outputs"
    quiet = ["--bundler_type=none", "--resources=v4=1"]
    said = fleet.run("launch", *quiet, f"--output_dir={home}/{array}", "--", "true")
    assert (said.returncode, "is the folder of an array" in said.stderr) == (2, True), said
    said = fleet.run("launch", *quiet, "--count=2", f"--output_dir={home}/{plain}/0", "--", "true")
    assert (said.returncode, "is the folder of a plain job" in said.stderr) == (2, True), said
    fits = fleet.submit("fits", f"--output_dir={home}/{array}/1", run=SAVES)
    assert fleet.wait(fits) == 0
    assert fleet.log(fits) == "found step of 1\n"


def test_outputs_are_removed_by_their_owner_and_not_while_another_job_goes_on_there(fleet: Fleet) -> None:
    job = fleet.submit("saves", run=SAVES)
    assert fleet.wait(job) == 0
    outputs = fleet.root / "outputs" / job
    said = fleet.run("launch", "outputs", job, "--delete", "--yes", "--user_id=somebody.else")
    assert (said.returncode, "and its outputs belong to " in said.stderr) == (1, True), said
    goes_on = json.loads(fleet.run("launch", "requeue", job, "--json", "--", "sleep", "600").stdout)["id"]
    until(lambda: fleet.job(goes_on)["state"] == "RUNNING")
    said = fleet.run("launch", "outputs", job, "--delete", "--yes")
    assert (said.returncode, f"{goes_on} has not ended and uses file://" in said.stderr) == (2, True), said
    assert fleet.run("launch", "stop", goes_on).returncode == 0
    assert fleet.wait(goes_on) != 0
    said = fleet.run("launch", "outputs", job, "--delete")
    assert (said.returncode, "use --yes to do it without a question" in said.stderr) == (2, True), said
    said = fleet.run("launch", "outputs", job, "--delete", "--yes")
    assert (said.returncode, "removed 1 files" in said.stderr) == (0, True), said
    assert [path for path in outputs.rglob("*") if path.is_file()] == []
