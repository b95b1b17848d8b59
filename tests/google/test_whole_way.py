"""The whole way: from `bastion create` to a VM that boots, a slice and a GPU VM that run jobs, and a cloud that is empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.fleet import until
from tests.google.own_vm import VM_ZONE, OwnVm, own_vm

VM = "bastion-demo"
ONLY_VM = {f"instances/{VM}", f"disks/{VM}"}


@pytest.fixture
def here(tmp_path: Path, store: str, gcs_address: str) -> Iterator[OwnVm]:
    with own_vm(tmp_path, store, gcs_address) as here:
        yield here


def test_jobs_go_the_whole_way_from_an_empty_cloud_to_an_empty_cloud(here: OwnVm) -> None:
    """The VM's `docker` starts this installation in place of an image: see `container_host`. All else is the real thing."""
    created = here.on_google()
    assert created.returncode == 0, (created, here.last_words())
    assert "a month: VM e2-small" in created.stderr
    assert here.machines().keys() == ONLY_VM
    assert here.ask("bastion", "list")["bastions"][0]["lodging"] == f"{VM} in {VM_ZONE}: RUNNING"

    job = here.submit(
        "train", "--instance_type=tpu-v4-16", run="echo worker $TPU_WORKER_ID of $TPU_WORKER_HOSTNAMES; pwd"
    )
    assert here.wait(job) == 0, here.last_words()
    lines = here.log(job).splitlines()
    assert [line.split(" of ")[0] for line in lines if "worker" in line] == ["[w000] worker 0", "[w001] worker 1"]
    assert here.job(job)["state"] == "SUCCEEDED"
    until(lambda: here.machines().keys() == ONLY_VM)

    tuned = here.submit("tune", "--instance_type=gpu-l4-1", run="echo rank $RANK on GPU $CUDA_VISIBLE_DEVICES")
    assert here.wait(tuned) == 0, here.last_words()
    assert here.log(tuned) == "rank 0 on GPU 0\n"
    assert "compute.instances.bulkInsert" in here.changes()
    until(lambda: here.machines().keys() == ONLY_VM)

    stopped = here.run("bastion", "stop")
    assert stopped.returncode == 0, stopped
    assert here.machines()[f"instances/{VM}"]["status"] == "TERMINATED"
    started = here.run("bastion", "start")
    assert started.returncode == 0, (started, here.last_words())
    assert here.ask("bastion", "status")["state"] == "running"
    deleted = here.run("bastion", "delete", "--yes", "--purge")
    assert deleted.returncode == 0, deleted
    assert here.machines() == {}
