"""`bastion create` and its like on the command line, where the bastion has a VM of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.google.support.own_vm import IMAGES, VM_ZONE, OwnVm, own_vm

VM = f"bastion-demo in {VM_ZONE}: RUNNING"
IMAGE = f"{IMAGES}@sha256:{'1' * 64}"
PROJECT_FLAG, ZONE_FLAG = f"--gcp_project={PROJECT}", f"--gcp_zone={VM_ZONE}"


@pytest.fixture
def bare(tmp_path: Path, google: Fake, store: str, gcs_address: str) -> OwnVm:
    """Where no machine ever comes up: for what needs none."""
    return OwnVm(tmp_path, google, store, gcs_address)


@pytest.fixture
def here(tmp_path: Path, store: str, gcs_address: str) -> Iterator[OwnVm]:
    with own_vm(tmp_path, store, gcs_address) as here:
        yield here


def test_a_dry_run_prints_all_calls_and_makes_none(bare: OwnVm) -> None:
    said = bare.on_google("--dry_run")
    assert said.returncode == 0, said
    calls = [line.split()[2] for line in said.stdout.splitlines() if line.startswith("would call: ")]
    assert calls[-1] == "compute.instances.insert"
    assert set(calls) >= {"iam.projects.serviceAccounts.create", "storage.buckets.setIamPolicy"}
    assert bare.changes() == []
    assert bare.run("bastion", "status").returncode == 1  # nothing was stored, either
    assert "a month: VM e2-small" in said.stderr


def test_terraform_is_written_and_nothing_made(bare: OwnVm) -> None:
    said = bare.on_google("--terraform=infra")
    assert said.returncode == 0, said
    assert "google_compute_instance" in (bare.folder / "infra/main.tf").read_text()
    assert bare.changes() == []
    assert bare.on_google("--terraform=infra").returncode == 0
    (bare.folder / "infra/main.tf").write_text("# ours\n")
    again = bare.on_google("--terraform=infra")
    assert again.returncode == 1
    assert "main.tf exists and has other content; remove it" in again.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([PROJECT_FLAG, f"--image={IMAGE}"], "use --gcp_zone=ZONE"),
        ([ZONE_FLAG, f"--image={IMAGE}"], "use --gcp_project=PROJECT"),
        ([PROJECT_FLAG, ZONE_FLAG], "use --image=REGION-docker.pkg.dev/"),
        ([PROJECT_FLAG, "--gcp_zone=mars", f"--image={IMAGE}"], "vm_zone is 'mars'; use a zone"),
        ([PROJECT_FLAG, ZONE_FLAG, "--fleet_zones=a b", f"--image={IMAGE}"], "zones has 'a b'; use zones"),
        ([PROJECT_FLAG, ZONE_FLAG, f"--image={IMAGE}", "--machine_type=Big"], "machine_type is 'Big'"),
        ([PROJECT_FLAG, ZONE_FLAG, f"--image={IMAGE}", "--bucket=file:///tmp"], "gs://NAME"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_made(bare: OwnVm, words: list[str], complaint: str) -> None:
    said = bare.run("bastion", "create", *words)
    assert said.returncode == 2, said
    assert complaint in said.stderr
    assert bare.changes() == []


def test_a_runner_without_a_place_for_machines_is_refused_at_the_start(bare: OwnVm) -> None:
    assert bare.on_google("--terraform=infra").returncode == 0  # the settings are stored, and no VM is made
    assert bare.run("bastion", "config", "set", "google.zones=[]", "--yes").returncode == 0
    said = bare.run("bastion", "start", "--here")
    assert said.returncode == 2, said
    assert "runner tpu needs a project and zones, but in [google] of config.toml zones is missing" in said.stderr


def test_a_vm_is_looked_at_and_made_only_once(here: OwnVm) -> None:
    created = here.on_google()
    assert created.returncode == 0, created
    [row] = here.ask("bastion", "list")["bastions"]
    assert (row["state"], row["lodging"]) == ("running", VM)
    assert VM in here.run("bastion", "status").stdout
    assert "bastion: the container runs" in here.run("bastion", "logs", "--console").stdout

    made = here.changes()
    again = here.on_google()
    assert (again.returncode, "already runs" in again.stdout) == (0, True), again
    assert here.changes() == made
