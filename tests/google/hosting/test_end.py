"""A bastion in Google's cloud is stopped and deleted: nothing of it stays that costs or may do something."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from bastion.cli.bastion import tool as bastion
from bastion.cli.launch import tool as launch
from tests.google.fake.fake import PROJECT
from tests.google.support.city import City, city
from tests.google.support.gces import ground
from tests.google.support.tpus import placement
from tests.google.test_gce_runner import GANG

VM = "compute.instances"
COSTS = ("queuedResources", "nodes", "instances", "disks")
NOTHING: dict[str, dict[str, object]] = {kind: {} for kind in COSTS}


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, store: str) -> Iterator[City]:
    """With a VM of its own, which does nothing: its bastion is that of the test."""
    with city(monkeypatch, "tpu", store.rpartition("/")[0]) as here:
        yield here


def up(here: City) -> None:
    """A job that has a slice."""
    assert here.launch("--instance_type=tpu-v6e-8")[0] == 0
    here.until(lambda: bool(here.fake.rows("nodes")))


def would(said: str) -> list[str]:
    return [line.split()[2] for line in said.splitlines() if line.startswith("would call: ")]


def test_what_lives_is_not_deleted_unless_that_is_forced_and_then_all_of_it(here: City) -> None:
    up(here)
    before = here.changes()
    code, said = here.tool(bastion.TOOL, "delete")
    assert code == 1
    assert "has jobs that have not ended (train-" in said
    assert "wait for them with bastion stop --drain, or cancel them with --force" in said
    code, rehearsed = here.tool(bastion.TOOL, "delete", "--purge", "--dry_run")
    assert code == 0, rehearsed
    assert here.changes() == before, "a refusal and a dry run change nothing"

    code, said = here.beside(bastion.TOOL, "delete", "--force", "--purge", "--yes")
    assert code == 0, said
    assert {kind: here.fake.rows(kind) for kind in COSTS} == NOTHING
    assert here.fake.rows("serviceAccounts") == {}
    assert "demo" not in str(here.fake.cloud.policies)
    assert set(would(rehearsed)) == set(here.changes()[len(before) :])
    assert len(list(here.bucket.list(""))) == 2, "who still sleeps is fenced off"


def test_machines_of_no_job_are_not_forgotten(here: City) -> None:
    here.runner.list()
    here.runner.create(replace(placement(here.runner), epoch=here.bastion.journal.epoch))
    here.fake.clock.advance(300)
    (name,) = (row.rpartition("/")[2] for row in here.fake.rows("nodes"))
    code, said = here.tool(bastion.TOOL, "delete")
    assert code == 1
    assert f"has machines that are not gone (us-east5-b/{name})" in said
    assert "or delete them with --force" in said
    code, said = here.beside(bastion.TOOL, "delete", "--force", "--yes")
    assert code == 0, said
    assert {kind: here.fake.rows(kind) for kind in COSTS} == NOTHING
    assert len(here.fake.rows("serviceAccounts")) == 2, "they stay for the next bastion create"
    here.bastion.close()  # as the VM's shutdown has it do
    code, said = here.tool(bastion.TOOL, "delete", "--purge", "--yes")
    assert code == 0, said
    assert here.fake.rows("serviceAccounts") == {}


def test_a_vm_is_stopped_by_the_calls_that_a_dry_run_prints(here: City) -> None:
    code, said = here.tool(bastion.TOOL, "stop", "--dry_run")
    assert (code, would(said), here.changes()) == (0, [f"{VM}.stop"], []), said
    assert here.tool(bastion.TOOL, "stop")[0] == 0
    assert here.changes() == [f"{VM}.stop"]
    assert "was already stopped" in here.tool(bastion.TOOL, "stop")[1]
    code, said = here.tool(bastion.TOOL, "start", "--dry_run")
    assert (code, would(said), here.changes()) == (0, [f"{VM}.start"], [f"{VM}.stop"]), said


def test_a_drain_waits_for_the_jobs_and_a_plain_stop_does_not(here: City) -> None:
    up(here)
    began = threading.Thread(target=here.tool, args=(bastion.TOOL, "stop", "--drain"))
    began.start()
    here.ticks(6)
    assert began.is_alive()
    assert f"{VM}.stop" not in here.changes()
    assert here.tool(launch.TOOL, "stop", "train", "--yes")[0] == 0
    while began.is_alive():
        here.ticks(1)
        began.join(0.05)
    assert here.changes().count(f"{VM}.stop") == 1


def test_a_bastion_without_a_vm_has_nothing_to_rehearse(monkeypatch: pytest.MonkeyPatch) -> None:
    with city(monkeypatch, "tpu", vm_zone="") as here:
        code, said = here.tool(bastion.TOOL, "stop", "--dry_run")
    assert code == 2
    assert "runs on this machine and calls no API" in said


def test_a_vm_that_may_not_be_deleted_is_told_with_the_right_that_lacks(here: City) -> None:
    here.fake.faults.deny("compute.instances.delete")
    code, said = here.beside(bastion.TOOL, "delete")
    assert code == 1
    assert f"lacks compute.instances.delete on projects/{PROJECT}/zones/" in said


def test_placements_of_gangs_go_with_the_last_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with ground(monkeypatch) as cloud:
        with pytest.raises(Exception, match="placement"):
            cloud.ask(resources=GANG, slices=2)
        for machine in cloud.up(resources=GANG, slices=2):
            cloud.runner.delete(machine.id)
        assert cloud.passes(60) == []
        runner = cloud.again()
        assert len(cloud.rows("resourcePolicies")) == 1
        runner.clear()
        cloud.passes(60)
        assert cloud.rows("resourcePolicies") == {}
