"""Old bundles and logs leave a folder by `bastion gc`, and what a job needs stays; clouds get rules."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from google.cloud import storage

from bastion.journal import snapshot
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.fleet import Fleet, files, until

DAY_S = 86_400


def age(folder: Path, days: int) -> None:
    """Make everything below a folder look old."""
    for path in files(folder):
        os.utime(path, (time.time() - days * DAY_S,) * 2)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in files(folder)}


def launch(fleet: Fleet, name: str, text: str, run: str, *flags: str) -> str:
    """A job with a bundle of its own; the digest of it."""
    code = fleet.folder / name
    code.mkdir()
    (code / "code.txt").write_text(text)
    said = fleet.run("launch", f"--name={name}", "--resources=v4=1", "--grace=1s", *flags, "--", run, cwd=code)
    assert said.returncode == 0, said
    return str(fleet.job(name)["spec"]["bundle"]["digest"])


def test_what_is_old_goes_and_what_is_needed_stays(fleet: Fleet) -> None:
    fleet.create("--capacity=v4=1")
    ended = launch(fleet, "ended", "one", 'touch "$BASTION_OUTPUT_DIR/own"; echo done', "--wait")
    running = launch(fleet, "running", "two", 'touch "$BASTION_OUTPUT_DIR/own"; echo begun; exec sleep 600')
    until(lambda: fleet.log("running") == "begun\n")
    waiting = launch(fleet, "waiting", "three", "true ")
    assert fleet.run("bastion", "stop").returncode == 0
    unread = launch(fleet, "unread", "four", "true ")
    logs = names(fleet.root / "logs")
    age(fleet.root / "bundles", 40)
    age(fleet.root / "logs", 40)
    age(fleet.root / "outputs", 40)
    snapshot.make(PrefixedBucket(LocalBucket(f"file://{fleet.root.parent}"), fleet.root.name))
    age(fleet.root / "snapshots", 4_000)
    before = names(fleet.root)

    terms = ("--logs_days=30", "--outputs_days=30")
    dry = fleet.ask("bastion", "gc", "--dry_run", *terms)
    assert (dry["dry_run"], dry["bundles"]["objects"], dry["outputs"]["objects"]) == (True, 1, 1)
    assert before <= names(fleet.root)
    said = fleet.ask("bastion", "gc", *terms)
    assert {**said, "dry_run": True} == dry
    assert said["freed_bytes"] > 0
    left = names(fleet.root / "bundles")
    assert left == {f"{digest}.tar.zst" for digest in (running, waiting, unread)}
    assert ended not in left
    ids = {name: fleet.job(name)["id"] for name in ("ended", "running")}
    assert {log.split("/")[0] for log in logs} == set(ids.values())
    assert {log.split("/")[0] for log in names(fleet.root / "logs")} == {ids["running"]}
    assert names(fleet.root / "outputs") == {f"{ids['running']}/0/own"}
    assert before - names(fleet.root) == {
        f"bundles/{ended}.tar.zst",
        *(f"logs/{log}" for log in logs if ids["ended"] in log),
        f"outputs/{ids['ended']}/0/own",
    }
    assert "bundles: 0 objects" in fleet.run("bastion", "gc").stdout
    fleet.create()


def test_a_bundle_is_uploaded_again_before_it_expires(fleet: Fleet) -> None:
    fleet.create()
    digest = launch(fleet, "first", "same", "true ", "--wait")
    bundle = fleet.root / "bundles" / f"{digest}.tar.zst"
    age(bundle.parent, 10)
    assert launch(fleet, "second", "same", "true ") == digest
    assert bundle.stat().st_mtime < time.time() - 9 * DAY_S
    age(bundle.parent, 20)
    assert launch(fleet, "third", "same", "true ") == digest
    assert bundle.stat().st_mtime > time.time() - DAY_S


def test_who_is_no_admin_may_look_and_not_remove(fleet: Fleet) -> None:
    fleet.create()
    assert fleet.run("bastion", "gc", "--user_id=bob", "--dry_run").returncode == 0
    said = fleet.run("bastion", "gc", "--user_id=bob")
    assert (said.returncode, "bob is no admin" in said.stderr) == (1, True)
    said = fleet.run("bastion", "gc", "--bundles_days=3")
    assert (said.returncode, "first run: bastion config set" in said.stderr) == (2, True)
    said = fleet.run("bastion", "gc", "--print_rules")
    assert (said.returncode, "can set no lifecycle rules" in said.stderr) == (2, True)


@pytest.fixture
def clouds(
    fleet: Fleet, s3_environ: dict[str, str], gcs_address: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Any, str]:
    """A bastion that never ran, in S3, its bundles in Google's store: their clients, and the name of both buckets."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)
    name, s3 = f"b-{uuid4()}", boto3.client("s3")
    s3.create_bucket(Bucket=name)
    with storage.Client() as google:
        google.create_bucket(name)
    settings = f'[buckets]\nttl = "gs://{name}/x"\n[retention]\nlogs_days = 90\n'
    s3.put_object(Bucket=name, Key="some/demo/config.toml", Body=settings.encode())
    fleet.environ |= {**s3_environ, "STORAGE_EMULATOR_HOST": gcs_address, "BASTION_BUCKET": f"s3://{name}/some"}
    return s3, name


def test_clouds_get_rules_for_what_expires_and_others_rules_stay(fleet: Fleet, clouds: tuple[Any, str]) -> None:
    s3, name = clouds
    printed = fleet.ask("bastion", "gc", "--print_rules")["buckets"]
    assert [each["bucket"] for each in printed] == [f"gs://{name}", f"s3://{name}"]
    assert printed[0]["rule"][0]["condition"] == {"age": 30, "matchesPrefix": ["x/demo/bundles/"]}
    assert [(r["Filter"]["Prefix"], r["Expiration"]["Days"]) for r in printed[1]["Rules"]] == [
        ("some/demo/logs/", 90),
        ("some/demo/bastion-log/", 90),
    ]
    plain = fleet.run("bastion", "gc", "--print_rules")
    assert [json.loads(line) for line in plain.stdout.splitlines()] == [
        {"rule": printed[0]["rule"]},
        {"Rules": printed[1]["Rules"]},
    ]
    assert "gcloud storage buckets update" in plain.stderr

    mine = {"ID": "mine", "Status": "Enabled", "Filter": {"Prefix": "mine/"}, "Expiration": {"Days": 3}}
    s3.put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration={"Rules": [mine]})
    for _ in range(2):
        said = fleet.run("bastion", "gc", "--apply_rules")
        assert said.returncode == 0, said
        rules = s3.get_bucket_lifecycle_configuration(Bucket=name)["Rules"]
        assert [rule["ID"] for rule in rules] == [
            "mine",
            "bastion: some/demo/logs/",
            "bastion: some/demo/bastion-log/",
        ]


@pytest.fixture
def fleet(tmp_path: Path) -> Any:
    here = Fleet(tmp_path)
    yield here
    if here.environ["BASTION_BUCKET"].startswith("file"):
        here.close()
