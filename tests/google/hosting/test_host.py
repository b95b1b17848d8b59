"""A bastion's own VM: made of what is missing, found again, replaced by another image, told beforehand, written down."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace

import hcl2
import msgspec
import pytest

from bastion.model.errors import UsageError
from bastion.model.settings.tables import GoogleSettings
from bastion.platform.system import RandomIds
from bastion.runners.google.api.client import GoogleApi
from bastion.runners.google.api.interface import PermissionMissing, ResourceExists, ResourceNotFound
from bastion.runners.google.hosting import bastion_vm as prices
from bastion.runners.google.hosting import rights, setup_steps, terraform
from bastion.runners.google.hosting.bastion_vm import BastionVm, check, instance, metadata_of, slug
from bastion.runners.google.hosting.dry_run import DryGoogle
from bastion.runners.google.hosting.grants import leave
from bastion.runners.google.hosting.vm_status import GONE, VmStatus
from tests.google.fake import Fake
from tests.google.fake.fake import PROJECT
from tests.support.world import HandClock

IMAGE = f"us-central1-docker.pkg.dev/{PROJECT}/images/bastion@sha256:{'1' * 64}"
OTHER = IMAGE.replace("1" * 64, "2" * 64)
ZONE = "us-central1-a"
HOST = BastionVm(
    bastion="team",
    url="gs://ours",
    buckets=["ours"],
    zone=ZONE,
    image=IMAGE,
    google=GoogleSettings(project=PROJECT, zones=[ZONE], vm_zone=ZONE),
)


class SharedClock(HandClock):
    """Whoever sleeps lets time pass in the fake, too: nothing depends on how fast this machine is."""

    def __init__(self, fake: Fake) -> None:
        super().__init__()
        self.fake = fake

    def sleep(self, seconds: float) -> None:
        """The same time for both."""
        super().sleep(seconds)
        self.fake.clock.advance(seconds)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    with Fake() as fake:
        for name, value in fake.environment().items():
            monkeypatch.setenv(name, value)
        yield fake


@pytest.fixture
def google(fake: Fake) -> Iterator[GoogleApi]:
    api = GoogleApi(PROJECT, SharedClock(fake), RandomIds(), limit_s=3.0)
    yield api
    api.close()


def made(google: GoogleApi, host: BastionVm = HOST) -> list[str]:
    return [step.what for step in setup_steps.steps(host) if step.ensure(google)]


def changes(fake: Fake) -> list[str]:
    looks = ("get", "list", "wait", "batchGet", "getIamPolicy")
    return [one.method for one in fake.calls() if one.method.rpartition(".")[2] not in looks]


def test_what_is_missing_is_made_and_what_is_there_is_left(fake: Fake, google: GoogleApi) -> None:
    fake.faults.disabled |= {"tpu.googleapis.com"}
    first = made(google)
    assert first[0] == "APIs"
    assert first[-1] == f"the VM bastion-team in {ZONE}"
    assert fake.faults.disabled == set()
    [vm] = fake.rows("instances").values()
    assert vm["status"] in ("PROVISIONING", "STAGING", "RUNNING")
    before = len(changes(fake))
    assert made(google) == []
    assert len(changes(fake)) == before


def test_the_vm_has_no_way_in_and_comes_back_by_itself(fake: Fake, google: GoogleApi) -> None:
    made(google)
    [vm] = fake.rows("instances").values()
    assert [interface.get("accessConfigs", []) for interface in vm["networkInterfaces"]] == [[]]
    assert vm["scheduling"]["automaticRestart"]
    assert metadata_of(vm)["bastion-image"] == IMAGE
    assert vm["serviceAccounts"][0]["email"] == HOST.account


def test_no_right_is_granted_that_is_not_said(fake: Fake, google: GoogleApi) -> None:
    made(google)
    granted = {
        (name, binding["role"], member, binding.get("condition", {}).get("expression", ""))
        for name, policy in fake.cloud.policies.items()
        for binding in policy["bindings"]
        for member in binding["members"]
    }
    where = {"project": lambda _: f"projects/{PROJECT}", "bucket": lambda name: f"buckets/{name}",
             "account": lambda name: f"projects/{PROJECT}/serviceAccounts/{name}"}  # fmt: skip
    assert granted == {(where[g.on](g.name), g.role, g.member, g.expression) for g in rights.grants(HOST)}
    role = next(row for name, row in fake.rows("roles").items() if name.endswith(HOST.role))
    assert set(role["includedPermissions"]) == set(rights.FLEET)


def test_rights_of_others_stay(fake: Fake, google: GoogleApi) -> None:
    theirs = {"role": "roles/owner", "members": ["user:ada@example.com"]}
    fake.cloud.policies[f"projects/{PROJECT}"] = {"version": 1, "bindings": [theirs]}
    made(google)
    assert theirs in fake.cloud.policies[f"projects/{PROJECT}"]["bindings"]


def test_at_its_end_the_accounts_go_and_what_others_have_stays(fake: Fake, google: GoogleApi) -> None:
    theirs = {"role": "roles/tpu.admin", "members": ["user:ada@example.com"]}
    fake.cloud.policies[f"projects/{PROJECT}"] = {"version": 1, "bindings": [theirs]}
    made(google)
    told: list[str] = []
    for step in leave(HOST):
        step.ensure(DryGoogle(google, told.append))
    before = len(changes(fake))
    gone = [step.what for step in leave(HOST) if step.ensure(google)]
    assert gone[-2:] == [f"the account {HOST.account}", f"the account {HOST.workers}"]
    assert fake.rows("serviceAccounts") == {}
    members = {
        member for policy in fake.cloud.policies.values() for one in policy["bindings"] for member in one["members"]
    }
    assert {member for member in members if HOST.bastion in member} == set()
    assert theirs in fake.cloud.policies[f"projects/{PROJECT}"]["bindings"]
    would = [line.split()[2] for line in told if line.startswith("would call")]
    assert would == changes(fake)[before:]
    assert [step.what for step in leave(HOST) if step.ensure(google)] == []
    assert len(fake.rows("roles")) == 2
    assert "rights on gs://ours" in made(google)


def test_an_account_that_somebody_else_made_stays(fake: Fake, google: GoogleApi) -> None:
    address = f"trainer@{PROJECT}.iam.gserviceaccount.com"
    host = other(google=msgspec.structs.replace(HOST.google, service_account=address))
    made(google, host)
    assert len(list(leave(host))) == len([step for step in leave(host) if step.ensure(google)])
    assert [name.rpartition("/")[2] for name in fake.rows("serviceAccounts")] == [address]


def test_a_vm_of_another_bastion_is_left_alone(fake: Fake, google: GoogleApi) -> None:
    made(google)
    with pytest.raises(ResourceExists, match="belongs to a bastion in gs://ours; give this one another name"):
        made(google, other(url="gs://theirs", buckets=["theirs"]))
    assert "compute.instances.reset" not in changes(fake)


def test_another_image_restarts_the_vm_and_nothing_else(fake: Fake, google: GoogleApi) -> None:
    made(google)
    fake.clock.advance(120)
    assert made(google, other(image=OTHER)) == [f"the VM bastion-team in {ZONE}"]
    [vm] = fake.rows("instances").values()
    assert metadata_of(vm)["bastion-image"] == OTHER
    assert changes(fake)[-2:] == ["compute.instances.setMetadata", "compute.instances.reset"]


def test_a_dry_run_tells_all_calls_and_changes_nothing(fake: Fake, google: GoogleApi) -> None:
    told: list[str] = []
    for step in setup_steps.steps(HOST):
        step.ensure(DryGoogle(google, told.append))
    assert changes(fake) == []
    would = [line.split(": ", 1)[1].split(" ", 1) for line in told if line.startswith("would call")]
    assert [method for method, _ in would][-1] == "compute.instances.insert"
    assert json.loads(would[-1][1])["body"] == instance(HOST)
    made(google)
    assert [method for method, _ in would] == changes(fake)


def test_who_may_not_is_told_which_right_is_missing(fake: Fake, google: GoogleApi) -> None:
    fake.faults.deny("compute.instances.create")
    with pytest.raises(
        PermissionMissing, match=r"lacks compute\.instances\.create on .*; run: gcloud projects add-iam-policy-binding"
    ):
        made(google)


def test_a_network_that_is_not_there_is_told(fake: Fake, google: GoogleApi) -> None:
    with pytest.raises(ResourceNotFound, match="subnetworks"):
        made(google, other(google=msgspec.structs.replace(HOST.google, subnetwork="nowhere")))


def test_a_vm_is_stopped_started_and_deleted(fake: Fake, google: GoogleApi) -> None:
    vm = VmStatus(google, PROJECT, ZONE, HOST.vm)
    assert (vm.status(), vm.stop(), vm.delete()) == (GONE, False, False)
    with pytest.raises(ResourceNotFound):
        vm.start()
    made(google)
    fake.clock.advance(120)
    assert (vm.status(), vm.start()) == ("RUNNING", False)
    assert (vm.stop(), vm.status(), vm.stop()) == (True, "TERMINATED", False)
    assert (vm.start(), vm.status()) == (True, "RUNNING")
    assert (vm.delete(), vm.status()) == (True, GONE)


def test_terraform_says_the_same(fake: Fake, google: GoogleApi) -> None:
    written = terraform.files(HOST)
    resources = hcl2.load(io.StringIO(written["main.tf"]))["resource"]
    found: dict[str, list[dict[str, object]]] = {}
    for each in resources:
        for kind, named in each.items():
            found.setdefault(kind.strip('"'), []).extend(named.values())
    members = [one for kind, ones in found.items() if kind.endswith("_iam_member") for one in ones]
    assert sorted((plain(one["role"]), plain(one["member"])) for one in members) == sorted(
        (grant.role, grant.member) for grant in rights.grants(HOST)
    )
    [vm] = found["google_compute_instance"]
    told = {plain(key): plain(value) for key, value in dict(vm["metadata"]).items()}  # type: ignore[call-overload]
    wanted = metadata_of(instance(HOST))
    assert {key: value for key, value in told.items() if key != "startup-script"} == {
        key: value for key, value in wanted.items() if key != "startup-script"
    }
    assert written["start.sh"] == wanted["startup-script"]


def plain(text: object) -> str:
    return str(text).strip('"')


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"image": ""}, "--image="),
        ({"image": "-rm"}, "the bastion's image is '-rm'"),
        ({"machine_type": "big one"}, "machine_type is 'big one'"),
        ({"url": "s3://ours"}, "gs://NAME"),
        ({"google": GoogleSettings()}, "--gcp_project=PROJECT"),
        ({"google": GoogleSettings(project="No")}, "project is 'No'"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_asked(wrong: dict[str, object], complaint: str) -> None:
    with pytest.raises(UsageError) as caught:
        check(other(**wrong))
    assert complaint in str(caught.value)


@pytest.mark.parametrize(("name", "slugged"), [("team", "team"), ("Team.A", "team-a-6dbb0e6b"), ("x" * 70, None)])
def test_names_are_google_s(name: str, slugged: str | None) -> None:
    found = slug(name, 50)
    assert len(found) <= 50
    assert slugged is None or found.rpartition("-")[0] == slugged.rpartition("-")[0]
    assert found == slug(name, 50)
    assert slug("team.a", 50) != slug("team-a", 50)


def test_the_price_is_a_line_with_its_parts() -> None:
    line = prices.line("e2-small", 10, 1.0)
    assert line.startswith("about US$ 26 a month: VM e2-small 12.23, disk 0.40, 86,400 polls a day 13.14")
    assert "odd-type not known here" in prices.line("odd-type", 10, 1.0)


def other(**fields: object) -> BastionVm:
    return replace(HOST, **fields)  # type: ignore[arg-type]
