"""The whole way: from `bastion create` to a VM that boots, a slice and a GPU VM that run jobs, and a cloud that is empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.google.support.own_vm import IMAGES, VM_ZONE, OwnVm, own_vm
from tests.support.fleet import PATIENCE_S, until

VM = "bastion-demo"
ONLY_VM = {f"instances/{VM}", f"disks/{VM}"}
NEWER = f"{IMAGES}@sha256:{'2' * 64}"
LOOK = "tpu.projects.locations.queuedResources.list"
WORKERS = "01"
TRAIN = """
echo worker $TPU_WORKER_ID of $TPU_WORKER_HOSTNAMES
until [ -e /end ]; do n=$((n + 1)); echo $n $(cat /news 2>/dev/null); sleep 0.2; done
"""
"""Counts, and says the machine's news with each number, until it is to end."""


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

    outlives_bastions(here, here.submit("train", "--instance_type=tpu-v4-16", run=TRAIN))
    until(lambda: here.machines().keys() == ONLY_VM)

    tuned = here.submit("tune", "--instance_type=gpu-l4-1", run="echo rank $RANK on GPU $CUDA_VISIBLE_DEVICES")
    assert here.wait(tuned) == 0, here.last_words()
    assert here.log(tuned) == "rank 0 on GPU 0\n"
    assert "compute.instances.bulkInsert" in here.changes()
    until(lambda: here.machines().keys() == ONLY_VM)

    deleted = here.run("bastion", "delete", "--yes", "--purge")
    assert deleted.returncode == 0, deleted
    assert here.machines() == {}


def outlives_bastions(here: OwnVm, job: str) -> None:
    """The bastion's VM is stopped and started, and then gets a newer image, under a job on a slice: the job notices nothing."""
    with followed(here, job) as lines:
        until(lambda: all(len(lines(worker)) > 1 for worker in WORKERS))
        here.await_state(job, "RUNNING")
        attempts, machines, made = here.job(job)["attempts"], here.machines().keys(), here.changes()

        stopped = here.run("bastion", "stop")
        assert stopped.returncode == 0, stopped
        assert here.ask("bastion", "status")["state"] == "stopped"  # it said so itself: its last tick was not cut off
        assert here.machines()[f"instances/{VM}"]["status"] == "TERMINATED"
        goes_on(here, lines, "alone")
        looks = len(here.google.calls(LOOK))
        started = here.run("bastion", "start")
        assert started.returncode == 0, (started, here.last_words())
        until(lambda: len(here.google.calls(LOOK)) > looks)
        upgraded = here.on_google(image=NEWER)
        assert upgraded.returncode == 0, (upgraded, here.last_words())
        assert NEWER in (here.google.machines.one(f"{VM}-0").root / "var/log/docker").read_text()
        assert here.ask("bastion", "status")["epoch"] == 3
        goes_on(here, lines, "upgraded")

        assert (here.job(job)["attempts"], here.machines().keys()) == (attempts, machines)
        vms = {f"compute.instances.{each}" for each in ("stop", "start", "setMetadata", "reset")}
        assert {*here.changes()[len(made) :]} == vms  # of the slice nothing was asked
        tell(here, "end", "")
    ended = here.job(job)
    assert (ended["state"], [each["attempt"] for each in ended["attempts"]]) == ("SUCCEEDED", [0])


@contextmanager
def followed(here: OwnVm, job: str) -> Iterator[Callable[[str], list[str]]]:
    """What somebody reads of a worker who follows the job from its first line to its end, which is to be a good one.

    It has to be what the log holds in the end, no line missing and none twice.
    """
    file = here.folder / "followed"

    def lines(worker: str) -> list[str]:
        return [line[7:] for line in file.read_text().splitlines() if line.startswith(f"[w00{worker}] ")]

    with file.open("w") as log, here.running("launch", "logs", job, "--follow", stdout=log) as reading:
        yield lines
        assert reading.wait(PATIENCE_S) == 0, here.last_words()
    assert sorted(here.log(job).splitlines()) == sorted(file.read_text().splitlines())
    for worker in WORKERS:
        first, *counted = lines(worker)
        assert first.startswith(f"worker {worker} of ")
        assert [int(line.split()[0]) for line in counted] == list(range(1, len(counted) + 1))


def goes_on(here: OwnVm, lines: Callable[[str], list[str]], news: str) -> None:
    """The job reads the news on its machines, and says them where all can read it."""
    tell(here, "news", news)
    until(lambda: all(lines(worker)[-1].endswith(f" {news}") for worker in WORKERS))


def tell(here: OwnVm, name: str, text: str) -> None:
    """Write a file on every machine there is."""
    for machine in here.google.machines.all():
        (machine.root / name).write_text(text)
