"""The pure parts of the runner of VMs: what is asked for, what a listing shows, and that a VM knows itself."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey
from bastion.model.settings.tables import GoogleSettings
from bastion.runners.delivery.bootstrap import MachineGroup, flags_of, metadata
from bastion.runners.google.gce import parse, render
from bastion.runners.google.machines.names import GoogleLabels, host_of, labels

KEY = AttemptKey("train-12345678", 0, 0)
MARK = GoogleLabels(scope="b", key=KEY, epoch=3, nonce="0" * 32)
ZONE = "us-central1-a"


def row(name: str = "x-2", status: str = "RUNNING", **marks: str) -> dict[str, Any]:
    return {
        "name": name,
        "status": status,
        "labels": labels(MARK) | marks,
        "machineType": "u/machineTypes/g2-standard-4",
    }


def test_a_vm_knows_which_worker_it_is_by_its_name() -> None:
    """What the metadata say and what the listing shows are the same machine."""
    boot = MachineGroup(key=KEY, machine=render.machine(ZONE, MARK.nonce), base=0, bucket="gs://b/m", build="ab")
    found = {"attributes": metadata(boot), "name": "x-2", "networkInterfaces": [{"ip": "10.0.0.1"}]}
    vm = parse.vm_of(row(), ZONE, "b")
    assert vm is not None
    told = flags_of(found)
    assert (
        (told["machine"], told["worker"])
        == (vm.machine.id, str(vm.machine.worker))
        == (f"{ZONE}/x-2/{'0' * 32}/0", "2")
    )
    assert host_of(vm.machine.id) == vm.host


@pytest.mark.parametrize(
    ("status", "seen", "doomed"),
    [
        ("PENDING", False, False),
        ("PROVISIONING", False, False),
        ("STAGING", False, False),
        ("RUNNING", True, False),
        ("PENDING_STOP", True, False),
        ("STOPPING", False, True),
        ("REPAIRING", False, True),
        ("TERMINATED", False, True),
        ("SUSPENDED", False, True),
    ],
)
def test_what_a_status_means(status: str, seen: bool, doomed: bool) -> None:
    vm = parse.vm_of(row(status=status), ZONE, "b")
    assert vm is not None
    assert (vm.machine.seen, vm.machine.doomed) == (seen, doomed)


def test_what_is_not_ours_is_passed_over() -> None:
    assert parse.vm_of(row(bastion="other"), ZONE, "b") is None
    assert parse.vm_of(row(nonce="x"), ZONE, "b") is None
    assert parse.vm_of(row(name="bastion"), ZONE, "b") is None
    assert parse.vm_of({}, ZONE, "b") is None
    for description in ("", "{", "[1]", "null", '{"bastion": "b"}'):
        assert parse.policy_of({"name": "x", "description": description}, "r", "b") is None
    ours = parse.policy_of(render.placement("x", MARK) | {"status": "READY"}, "us-central1", "b")
    assert ours is not None
    assert (ours.name, ours.mark, ours.ready) == ("x", MARK, True)


def test_a_place_that_did_not_answer_is_no_empty_one() -> None:
    silent = [
        ("zones/a", {"warning": {"code": "NO_RESULTS_ON_PAGE"}}),
        ("zones/b", {"warning": {"code": "UNREACHABLE"}}),
    ]
    with pytest.raises(RunnerError, match="zones/b did not list its"):
        list(parse.items_of(silent, "instances"))
    assert list(parse.items_of([("zones/a", {"instances": [{"name": "x"}]})], "instances")) == [("a", {"name": "x"})]


@pytest.mark.parametrize(
    ("resources", "replicas", "how", "policy"),
    [
        ({"h100": 8}, 2, "spot", True),
        ({"h100": 16}, 1, "on-demand", True),
        ({"h100": 8}, 1, "spot", False),
        ({"h100": 8}, 2, "reserved", False),
        ({"h100": 8}, 2, "flex-start", False),
        ({"l4": 1}, 2, "spot", False),
    ],
)
def test_gangs_of_the_big_families_are_placed_together(
    resources: dict[str, int], replicas: int, how: str, policy: bool
) -> None:
    wish = render.wanted(resources, replicas, how)
    assert wish.policy is policy
    body = render.body(GoogleSettings(project="p-12345"), ZONE, "x", MARK, wish, {})
    assert body["instanceProperties"].get("resourcePolicies") == (["x"] if policy else None)


def test_networks_disks_and_reservations_are_named_as_the_api_wants_them() -> None:
    google = GoogleSettings(
        project="p-12345", network="net", subnetwork="sub", reservations={"b200": "projects/q/reservations/r"},
        service_account="w@p.iam.gserviceaccount.com", disk_gb=50,
    )  # fmt: skip
    wish = render.wanted({"b200": 8}, 1, "reserved")
    made = render.body(google, ZONE, "x", MARK, wish, {"k": "v"})["instanceProperties"]
    (net,), (disk,) = made["networkInterfaces"], made["disks"]
    assert net == {"network": "global/networks/net", "subnetwork": "regions/us-central1/subnetworks/sub"}
    assert (disk["initializeParams"]["diskType"], disk["initializeParams"]["diskSizeGb"]) == (
        "hyperdisk-balanced",
        "50",
    )
    assert disk["autoDelete"]
    assert made["reservationAffinity"]["values"] == ["projects/q/reservations/r"]
    assert made["serviceAccounts"][0]["email"] == "w@p.iam.gserviceaccount.com"
    assert made["metadata"] == {"items": [{"key": "k", "value": "v"}]}
