"""One bastion in three buckets: what is private, what stays, and what expires."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fleet import Fleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    here = Fleet(tmp_path)
    here.create(f"--permanent_bucket=file://{tmp_path}/kept", f"--ttl_bucket={tmp_path}/expiring/")
    yield here
    here.close()


def first_words(folder: Path) -> set[str]:
    """What lies in a bastion's part of a bucket."""
    return {path.name for path in (folder / "demo").iterdir()}


def test_the_main_job_goes_the_whole_way_through_three_buckets(fleet: Fleet) -> None:
    code = fleet.folder / "code"
    code.mkdir()
    (code / "hello.py").write_text('import os; open(os.environ["BASTION_OUTPUT_DIR"] + "/result", "w").write("42")\n')
    run = ["--name=solo", "--resources=v4=4", "--wait", "--", "python3", "hello.py"]
    said = fleet.run("launch", *run, cwd=code)
    assert said.returncode == 0, said
    fleet.submit("gang", "--num_replicas=2", "--resources=v4=4", run="echo rank $RANK; pwd > $BASTION_OUTPUT_DIR/x")
    assert fleet.wait("gang") == 0
    assert sorted(fleet.log("gang").splitlines())[:2] == ["[w000] rank 0", "[w001] rank 1"]
    array = fleet.submit("array", "--count=2", run="echo $BASTION_TASK > $BASTION_OUTPUT_DIR/number")
    assert fleet.wait("array") == 0

    kept = fleet.folder / "kept"
    solo = fleet.job("solo")["id"]
    assert (kept / "demo" / "outputs" / solo / "0" / "result").read_text() == "42"
    assert (kept / "demo" / "outputs" / array / "1" / "number").read_text() == "1\n"
    assert first_words(kept) == {"logs", "outputs", "bastion-log"}
    assert first_words(fleet.folder / "expiring") == {"bundles"}
    assert first_words(fleet.bucket).isdisjoint({"logs", "outputs", "bastion-log", "bundles"})
    assert "epoch 1" in fleet.run("bastion", "logs").stdout
    assert fleet.problems() == []


def test_a_restart_and_settings_that_make_no_sense_leave_everything_where_it_is(fleet: Fleet) -> None:
    fleet.submit("first", run="echo first")
    assert fleet.wait("first") == 0
    assert fleet.run("bastion", "stop").returncode == 0
    fleet.create()
    fleet.put("config.toml", b"poll = [")
    assert fleet.log("first") == "first\n"
    fleet.submit("second", run="echo second")
    assert fleet.wait("second") == 0
    assert fleet.log("second") == "second\n"
    assert "logs" not in first_words(fleet.bucket)


def test_a_purge_empties_all_three_but_for_the_fence_of_two_small_objects(fleet: Fleet) -> None:
    fleet.submit("first", run="echo first")
    assert fleet.wait("first") == 0
    said = fleet.run("bastion", "delete", "--force", "--yes", "--purge")
    assert said.returncode == 0, said
    left = {
        folder: [
            path.name
            for path in (fleet.folder / folder).rglob("*")
            if path.is_file() and path.parent.name != "%private"
        ]
        for folder in ("bucket", "kept", "expiring")
    }
    assert (left["kept"], left["expiring"]) == ([], [])
    assert [name.split(".", 1)[1] for name in sorted(left["bucket"])] == ["json.zst", "json"]
    fleet.create()
    assert fleet.ask("bastion", "status")["epoch"] == 3, "no epoch is given twice"
    assert fleet.jobs() == []


def test_another_bucket_is_for_what_comes_and_the_other_one_stays(fleet: Fleet) -> None:
    said = fleet.run("bastion", "create", f"--ttl_bucket={fleet.folder}/later")
    assert said.returncode == 0, said
    assert "copy them" in said.stderr
    settings = fleet.ask("bastion", "config", "show")
    assert f"file://{fleet.folder}/kept" in str(settings)
    assert f"file://{fleet.folder}/later" in str(settings)


def test_a_url_that_is_no_store_is_refused_and_nothing_is_stored(fleet: Fleet) -> None:
    before = (fleet.root / "config.toml").read_bytes()
    said = fleet.run("bastion", "create", "--permanent_bucket=nope://x")
    assert said.returncode == 2
    assert "nope" in said.stderr
    assert (fleet.root / "config.toml").read_bytes() == before
