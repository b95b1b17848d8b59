"""What is granted, and told in docs/reference/google-rights.md, is what our calls need: no less, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bastion.cli.bastion import tool as bastion
from bastion.cli.launch import tool as launch
from bastion.platform.system import RandomIds
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.cloud_builds import CloudBuilds
from bastion.runners.google.hosting import rights, setup_steps
from bastion.runners.google.hosting.vm_status import VmStatus
from tests.google.fake.fake import PROJECT
from tests.google.fake.rights import ROLES
from tests.google.support.city import City, Login, city
from tests.google.support.gces import OTHER_ZONE, ZONE
from tests.google.support.tpus import FakesClock

ACT_AS = "iam.serviceAccounts.actAs"


@pytest.fixture
def tpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[City]:
    with city(monkeypatch, "tpu") as here:
        yield here


def used(here: City, account: str) -> set[str]:
    """The permissions that an account's calls needed."""
    return {permission for who, permission in here.fake.cloud.used if who == account}


def ends(here: City, name: str) -> None:
    """A job that was launched has machines, and is cancelled until nothing of it is left."""
    here.until(lambda: machines(here) > 0)
    here.ticks(6)
    assert here.tool(launch.TOOL, "stop", name, "--yes")[0] == 0
    here.until(lambda: machines(here) == 0)


def machines(here: City) -> int:
    """All but the bastion's VM."""
    return len(here.fake.rows("nodes")) + len(here.fake.rows("queuedResources")) + len(here.fake.rows("instances")) - 1


def refused(here: City) -> list[str]:
    return [call.method for call in here.fake.calls()[here.begun :] if call.code == 403]


def test_the_runner_of_slices_needs_what_is_told_and_no_more(tpus: City) -> None:
    tpus.fake.faults.lag_lists(300)
    assert tpus.launch("--instance_type=tpu-v6e-8")[0] == 0
    tpus.ticks(9)  # it is not listed yet, and asked for again: what became of the first?
    tpus.fake.faults.lag_lists(0)
    ends(tpus, "train")
    tpus.runner.look(f"us-east5-b/train-0123456789abcd/{'0' * 32}/0")
    assert used(tpus, tpus.host.account) == {*rights.SLICES, ACT_AS}
    assert refused(tpus) == []


def test_the_runner_of_vms_needs_what_is_told_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    images = {"a100": "family/mine", "l4": "family/mine"}
    with city(monkeypatch, "gce", zones=[ZONE, OTHER_ZONE], reservations={"l4": "ours"}, images=images) as here:
        here.fake.put(f"projects/{PROJECT}/global/images/mine-1", family="mine", name="mine-1")
        assert here.launch("--instance_type=gpu-a100-8", "--num_replicas=2", name="gang")[0] == 0
        ends(here, "gang")
        here.ticks(20)
        assert here.fake.rows("resourcePolicies") == {}
        assert used(here, here.host.account) == {*rights.FLEET, ACT_AS}
        assert refused(here) == []


def test_who_waits_for_images_needs_what_its_role_holds(tpus: City) -> None:
    door = GoogleApi(PROJECT, FakesClock(tpus.fake), RandomIds(), login=lambda: Login(tpus.fake, tpus.host.account))
    named = f"projects/{PROJECT}/locations/europe-west4/builds/"
    CloudBuilds(lambda _: door).ended([f"{named}{number}" for number in range(3)])
    door.close()
    asked = {one for one in used(tpus, tpus.host.account) if one.startswith("cloudbuild.")}
    assert asked == set(ROLES["roles/cloudbuild.builds.viewer"])
    assert refused(tpus) == []


def test_who_makes_and_ends_a_bastion_needs_what_is_told_and_no_more(
    monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    with city(monkeypatch, "gce", store.rpartition("/")[0], tiers=["spot"]) as here:
        owner = GoogleApi(PROJECT, FakesClock(here.fake), RandomIds())
        here.fake.faults.disable("cloudresourcemanager.googleapis.com")
        here.fake.cloud.rows.change(f"projects/{PROJECT}/roles/{here.host.role}", deleted=True)
        other = replace(here.host, image=f"{here.host.image}:next")
        assert len([step.what for step in setup_steps.steps(other) if step.ensure(owner)]) == 3
        vm = VmStatus(owner, PROJECT, here.host.zone, here.host.vm)
        vm.console()
        assert here.tool(bastion.TOOL, "stop")[0] == 0
        vm.start()
        assert here.launch("--instance_type=gpu-l4-1")[0] == 0
        here.until(lambda: machines(here) > 0)
        assert here.beside(bastion.TOOL, "delete", "--force", "--purge", "--yes")[0] == 0
        owner.close()
        mine = used(here, here.fake.cloud.account)
    assert mine >= rights.CREATE.keys()
    assert mine <= rights.CREATE.keys() | rights.FLEET.keys()


def test_every_api_that_is_asked_is_switched_on_first(tpus: City) -> None:
    """But those that say which are on, and that hold and build images, which not every bastion has."""
    asked = {f"{call.method.partition('.')[0]}.googleapis.com" for call in tpus.fake.calls()}
    assert asked <= rights.APIS.keys() | {"serviceusage.googleapis.com"}
    assert rights.APIS.keys() - asked == set()
