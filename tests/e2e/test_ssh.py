"""`launch ssh`: to machines in Google's clouds by a program that stands in for gcloud, and on this machine for real."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.model import layout
from bastion.model.stored.events import Claimed, Started, Waiting
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket
from tests.support.fleet import Fleet, Said, until
from tests.support.world import World

FAKE_GCLOUD = """#!/bin/sh
# Stands in for gcloud: notes its arguments, and ends as the command would.
for word; do printf '%s\\n' "$word"; done >"$0.said"
exit 7
"""
NONCE = "0" * 32
CONFIG = b'runners = ["tpu"]\n[google]\nproject = "my-project"\nzones = ["us-east5-b"]\n'


class Cloud(Fleet):
    """A bastion's bucket with a job on a slice of two hosts, written by hand, and a gcloud that notes what it is told."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.gcloud = folder / "bin" / "gcloud"
        self.gcloud.parent.mkdir()
        self.environ |= {"PATH": str(self.gcloud.parent)}
        self.bucket.mkdir()
        part = PrefixedBucket(LocalBucket(f"file://{self.bucket}"), "demo")
        part.write(layout.CONFIG, CONFIG)
        self.world = World(part)
        self.job_id = self.world.submitted(name="train")

    def starts(self, *machines: str, runner: str = "tpu") -> None:
        """An attempt begins; its workers are on these machines, "" for one that is not up."""
        at = {"job": self.job_id, "task": 0, "attempt": 0}
        self.world.happens(Started(**at, runner=runner, tier=0, workers=len(machines)))  # type: ignore[arg-type]
        there = [
            Claimed(**at, worker=n, machine=machine, address="10.0.0.1")  # type: ignore[arg-type]
            for n, machine in enumerate(machines)
            if machine
        ]
        if there:
            self.world.happens(*there)

    def install(self) -> None:
        self.gcloud.write_text(FAKE_GCLOUD)
        self.gcloud.chmod(0o755)

    def told(self) -> list[str]:
        return self.gcloud.with_name("gcloud.said").read_text().splitlines()

    def ssh(self, *words: str) -> Said:
        return self.run("launch", "ssh", *words)


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    here = Cloud(tmp_path)
    yield here
    here.close()


def machine(host: int) -> str:
    return f"us-east5-b/train-0123456789abcd/{NONCE}/{host}"


def test_gcloud_takes_over_with_its_exit_code(cloud: Cloud) -> None:
    cloud.install()
    cloud.starts(machine(0), machine(1))
    said = cloud.ssh("train", "--worker=1", "--forward=8080:9090", "--", "echo", "a b", "$HOME")
    assert said.returncode == 7, said
    assert cloud.told() == [
        "compute", "tpus", "queued-resources", "ssh", "train-0123456789abcd", "--node=0", "--worker=1",
        "--zone=us-east5-b", "--project=my-project", "--tunnel-through-iap", "--command=echo 'a b' '$HOME'", "--", "-L",
        "8080:localhost:9090",
    ]  # fmt: skip


def test_print_runs_nothing_and_needs_no_gcloud(cloud: Cloud) -> None:
    cloud.starts(machine(0), runner="gce")
    said = cloud.ssh("train", "--print", "--", "nvidia-smi", "-L")
    assert said.stdout == (
        "gcloud compute ssh train-0123456789abcd --zone=us-east5-b --project=my-project --tunnel-through-iap "
        "'--command=nvidia-smi -L'\n"
    )
    assert json.loads(cloud.ssh("train", "--print", "--json").stdout)["command"][:3] == ["gcloud", "compute", "ssh"]


def test_without_gcloud_it_says_what_to_install(cloud: Cloud) -> None:
    cloud.starts(machine(0))
    said = cloud.ssh("train")
    assert said.returncode == 1
    assert "gcloud is not installed here; install Google's command line" in said.stderr


def test_who_is_not_there_cannot_be_visited(cloud: Cloud) -> None:
    cloud.install()
    assert "train is PENDING and on no machine now" in cloud.ssh("train").stderr
    cloud.starts("", machine(1))
    cloud.world.happens(Waiting(job=cloud.job_id, task=0, attempt=0, reason="v6e-16 is queued in us-east5-b"))
    assert "worker 0 of train is not up yet: v6e-16 is queued in us-east5-b" in cloud.ssh("train").stderr
    said = cloud.ssh("train", "--worker=2")
    assert said.returncode == 102
    assert "train has no worker 2; its workers are 0 to 1" in said.stderr
    assert not cloud.gcloud.with_name("gcloud.said").exists()


def test_a_worker_that_lies_about_its_machine_leads_nowhere(cloud: Cloud) -> None:
    cloud.install()
    cloud.starts(f"us-east5-b/--impersonate-service-account/{NONCE}/0")
    said = cloud.ssh("train")
    assert said.returncode == 1
    assert "which is no machine of Bastion" in said.stderr
    assert not cloud.gcloud.with_name("gcloud.said").exists()


def test_on_this_machine_it_is_in_the_folder_and_environment_of_the_job(fleet: Fleet) -> None:
    fleet.create()
    job = fleet.submit("here", "--env=COLOR=green", run="pwd; exec sleep 600")
    fleet.await_state(job, "RUNNING")
    until(lambda: fleet.log(job).endswith("\n"))
    said = fleet.run("launch", "ssh", "here", "--", "sh", "-c", "pwd; echo $COLOR $BASTION_JOB; exit 5")
    assert said.returncode == 5, said
    assert said.stdout.splitlines() == [fleet.log("here").strip(), f"green {job}"]
    assert "runs on its bastion's own machine" in fleet.run("launch", "ssh", "here", "--forward=80").stderr
    fleet.run("launch", "stop", "here", "--wait")
    assert "here is CANCELLED and on no machine now" in fleet.run("launch", "ssh", "here").stderr
