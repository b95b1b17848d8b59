"""The fake's Compute Engine, asked with Google's own client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from googleapiclient.errors import HttpError

from tests.google.fake import Fake
from tests.google.support.client import ask

PROJECT, ZONE, REGION = "test-project", "us-central1-a", "us-central1"
AT = {"project": PROJECT, "zone": ZONE}
IMAGE = "projects/debian-cloud/global/images/family/debian-12"


@pytest.fixture
def compute(talk: Callable[..., Any]) -> Any:
    return talk("compute")


def properties(kind: str = "e2-small", **more: Any) -> dict[str, Any]:
    disk = {"boot": True, "autoDelete": True, "initializeParams": {"sourceImage": IMAGE, "diskSizeGb": "20"}}
    return {"machineType": kind, "disks": [disk], "networkInterfaces": [{"network": "global/networks/default"}], **more}


def vm(name: str = "a", kind: str = "e2-small", **more: Any) -> dict[str, Any]:
    return properties(f"zones/{ZONE}/machineTypes/{kind}", **more) | {"name": name}


def wait(compute: Any, made: dict[str, Any]) -> dict[str, Any]:
    return ask(compute.zoneOperations().wait(**AT, operation=made["name"]))


def status(compute: Any, name: str = "a") -> str:
    found: str = ask(compute.instances().get(**AT, instance=name))["status"]
    return found


def codes(operation: dict[str, Any]) -> list[str]:
    return [one["code"] for one in operation["error"]["errors"]]


def test_a_vm_comes_up_stops_starts_and_goes_with_its_disk(google: Fake, compute: Any) -> None:
    made = ask(compute.instances().insert(**AT, body=vm()))
    assert (made["status"], status(compute)) == ("RUNNING", "PROVISIONING")
    assert wait(compute, made)["status"] == "DONE"
    assert status(compute) == "RUNNING"
    assert len(google.rows("disks")) == 1
    wait(compute, ask(compute.instances().stop(**AT, instance="a")))
    assert status(compute) == "TERMINATED"
    wait(compute, ask(compute.instances().start(**AT, instance="a")))
    assert status(compute) == "RUNNING"
    wait(compute, ask(compute.instances().delete(**AT, instance="a")))
    assert google.rows("instances") == google.rows("disks") == {}
    with pytest.raises(HttpError) as gone:
        status(compute)
    assert gone.value.status_code == 404


def test_waiting_lets_time_pass_but_two_minutes_at_most(google: Fake, compute: Any) -> None:
    google.faults.hang_deletion("a")
    wait(compute, ask(compute.instances().insert(**AT, body=vm())))
    before = google.clock.now
    assert wait(compute, ask(compute.instances().delete(**AT, instance="a")))["status"] == "RUNNING"
    assert google.clock.now - before == 120


def test_stock_outs_and_quotas_are_errors_of_the_operation(google: Fake, compute: Any) -> None:
    google.faults.stock_out(ZONE, "g2-*")
    google.faults.limit("NVIDIA_A100_GPUS", 8, place=REGION)
    gpu = {"scheduling": {"onHostMaintenance": "TERMINATE"}}
    lacking = wait(compute, ask(compute.instances().insert(**AT, body=vm("a", "g2-standard-4", **gpu))))
    assert codes(lacking) == ["ZONE_RESOURCE_POOL_EXHAUSTED"]
    assert google.rows("instances") == {}
    good = wait(compute, ask(compute.instances().insert(**AT, body=vm("b", "a2-highgpu-8g", **gpu))))
    assert "error" not in good
    over = wait(compute, ask(compute.instances().insert(**AT, body=vm("c", "a2-highgpu-1g", **gpu))))
    assert (codes(over), over["httpErrorStatusCode"]) == (["QUOTA_EXCEEDED"], 403)


def bulk(compute: Any, count: int, least: int, kind: str = "g2-standard-4", **more: Any) -> dict[str, Any]:
    body = {
        "count": str(count),
        "minCount": str(least),
        "namePattern": "gang-##",
        "instanceProperties": properties(kind, scheduling={"onHostMaintenance": "TERMINATE"}),
    }
    return ask(compute.instances().bulkInsert(**AT, body=body | more))


def test_many_vms_come_up_together(google: Fake, compute: Any) -> None:
    done = wait(compute, bulk(compute, 3, 3))
    said = done["instancesBulkInsertOperationMetadata"]["perLocationStatus"][f"zones/{ZONE}"]
    assert (said["createdVmCount"], said["status"]) == (3, "DONE")
    assert [name.rpartition("/")[2] for name in google.rows("instances")] == ["gang-01", "gang-02", "gang-03"]


def test_too_few_are_none(google: Fake, compute: Any) -> None:
    google.faults.leave(ZONE, "g2-*", 2)
    done = wait(compute, bulk(compute, 3, 3))
    assert codes(done) == ["ZONE_RESOURCE_POOL_EXHAUSTED"]
    said = done["instancesBulkInsertOperationMetadata"]["perLocationStatus"][f"zones/{ZONE}"]
    assert (said["deletedVmCount"], said["failedToCreateVmCount"]) == (2, 1)
    assert google.rows("instances") == google.rows("disks") == {}


def test_enough_are_enough(google: Fake, compute: Any) -> None:
    google.faults.leave(ZONE, "g2-*", 2)
    done = wait(compute, bulk(compute, 3, 2))
    assert "error" not in done
    each = ask(compute.zoneOperations().list(**AT, filter=f"operationGroupId={done['operationGroupId']}"))["items"]
    assert len([one for one in each if "error" in one]) == 1
    assert len(google.rows("instances")) == 2


def test_names_may_be_said_one_by_one(google: Fake, compute: Any) -> None:
    body = {"count": "2", "instanceProperties": properties(), "perInstanceProperties": {"x": {}, "y": {}}}
    wait(compute, ask(compute.instances().bulkInsert(**AT, body=body)))
    assert [name.rpartition("/")[2] for name in google.rows("instances")] == ["x", "y"]


def test_a_spot_vm_is_taken_back_and_holds_its_disk(google: Fake, compute: Any) -> None:
    for name, action in (("stops", "STOP"), ("goes", "DELETE")):
        how = {"provisioningModel": "SPOT", "instanceTerminationAction": action}
        wait(compute, ask(compute.instances().insert(**AT, body=vm(name, scheduling=how))))
        google.preempt(name)
    assert status(compute, "stops") == "TERMINATED"
    assert [name.rpartition("/")[2] for name in google.rows("disks")] == ["stops"]
    done = ask(compute.zoneOperations().list(**AT, filter="operationType=compute.instances.preempted"))
    assert len(done["items"]) == 2


def test_a_reservation_has_so_many_places(google: Fake, compute: Any) -> None:
    spec = {"count": "1", "instanceProperties": {"machineType": "e2-small"}}
    body = {"name": "r", "specificReservation": spec, "specificReservationRequired": True}
    wait(compute, ask(compute.reservations().insert(**AT, body=body)))
    google.faults.stock_out(ZONE)
    wanted = {
        "consumeReservationType": "SPECIFIC_RESERVATION",
        "key": "compute.googleapis.com/reservation-name",
        "values": ["r"],
    }
    assert "error" not in wait(compute, ask(compute.instances().insert(**AT, body=vm("a", reservationAffinity=wanted))))
    over = wait(compute, ask(compute.instances().insert(**AT, body=vm("b", reservationAffinity=wanted))))
    assert "do not have available resources" in over["error"]["errors"][0]["message"]


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        (vm(kind="v100-x"), 400, "does not exist in zone"),
        (vm(kind="a2-highgpu-1g"), 400, "do not support live migration"),
        (vm(networkInterfaces=[{"network": "global/networks/lost"}]), 404, "networks/lost' was not found"),
        (vm(networkInterfaces=[]), 400, "At least one network interface"),
        (vm(disks=[]), 400, "One boot disk"),
        (vm(serviceAccounts=[{"email": "no@test-project.iam.gserviceaccount.com"}]), 400, "service account"),
        (vm(resourcePolicies=["near"]), 404, "resourcePolicies/near' was not found"),
        (vm(scheduling={"provisioningModel": "SPOT", "automaticRestart": True}), 400, "restarted automatically"),
        (vm(scheduling={"provisioningModel": "FLEX_START"}), 400, "maxRunDuration"),
    ],
)
def test_vms_that_cannot_be_are_refused(google: Fake, compute: Any, body: dict[str, Any], code: int, said: str) -> None:
    with pytest.raises(HttpError, match=said) as refused:
        ask(compute.instances().insert(**AT, body=body))
    assert refused.value.status_code == code
    assert google.rows("instances") == {}


def test_a_vm_may_have_a_longest_run(google: Fake, compute: Any) -> None:
    how = {"maxRunDuration": {"seconds": "3600"}, "instanceTerminationAction": "DELETE"}
    wait(compute, ask(compute.instances().insert(**AT, body=vm(scheduling=how))))
    google.clock.advance(3500)
    assert status(compute) == "RUNNING"
    google.clock.advance(200)
    assert google.rows("instances") == {}


def test_all_zones_are_listed_in_pages_and_the_silent_ones_named(google: Fake, compute: Any) -> None:
    for zone in (ZONE, "us-central1-b"):
        for n in range(2):
            body = properties(f"zones/{zone}/machineTypes/e2-small", labels={"bastion": "main"}) | {"name": f"vm{n}"}
            ask(compute.instances().insert(project=PROJECT, zone=zone, body=body))
    found, request = [], compute.instances().aggregatedList(project=PROJECT, filter="labels.bastion=main", maxResults=3)
    while request:
        answer = ask(request)
        found += [f"{place} {one['name']}" for place, part in answer["items"].items() for one in part["instances"]]
        request = compute.instances().aggregatedList_next(request, answer)
    assert found == [f"zones/{zone} vm{n}" for zone in (ZONE, "us-central1-b") for n in range(2)]
    assert ask(compute.instances().aggregatedList(project=PROJECT, filter="labels.bastion=other"))["items"] == {}
    google.faults.silence(ZONE)
    part = ask(compute.instances().aggregatedList(project=PROJECT))
    assert part["unreachables"] == [f"zones/{ZONE}"]
    assert part["items"][f"zones/{ZONE}"]["warning"]["code"] == "UNREACHABLE"
    assert len(part["items"]["zones/us-central1-b"]["instances"]) == 2


def test_metadata_are_changed_by_who_read_them(google: Fake, compute: Any) -> None:
    wait(compute, ask(compute.instances().insert(**AT, body=vm())))
    now = ask(compute.instances().get(**AT, instance="a"))["metadata"]
    items = [{"key": "image", "value": "two"}]
    body = {"items": items, "fingerprint": now.get("fingerprint")}
    wait(compute, ask(compute.instances().setMetadata(**AT, instance="a", body=body)))
    assert ask(compute.instances().get(**AT, instance="a"))["metadata"]["items"] == items
    with pytest.raises(HttpError) as stale:
        ask(compute.instances().setMetadata(**AT, instance="a", body=body))
    assert stale.value.status_code == 412


def test_networks_are_set_up_and_those_in_use_stay(google: Fake, compute: Any) -> None:
    made = ask(compute.networks().insert(project=PROJECT, body={"name": "net", "autoCreateSubnetworks": False}))
    assert ask(compute.globalOperations().wait(project=PROJECT, operation=made["name"]))["status"] == "DONE"
    subnet = {
        "name": "sub",
        "network": "global/networks/net",
        "ipCidrRange": "10.9.0.0/20",
        "privateIpGoogleAccess": True,
    }
    ask(compute.subnetworks().insert(project=PROJECT, region=REGION, body=subnet))
    router = {
        "name": "way",
        "network": "global/networks/net",
        "nats": [{"name": "nat", "natIpAllocateOption": "AUTO_ONLY"}],
    }
    made = ask(compute.routers().insert(project=PROJECT, region=REGION, body=router))
    assert (
        ask(compute.regionOperations().wait(project=PROJECT, region=REGION, operation=made["name"]))["status"] == "DONE"
    )
    with pytest.raises(HttpError, match="already being used"):
        ask(compute.networks().delete(project=PROJECT, network="net"))
    for collection, name in (("routers", "router"), ("subnetworks", "subnetwork")):
        short = "way" if name == "router" else "sub"
        ask(getattr(compute, collection)().delete(project=PROJECT, region=REGION, **{name: short}))
    google.clock.advance(10)
    ask(compute.networks().delete(project=PROJECT, network="net"))
    google.clock.advance(10)
    with pytest.raises(HttpError, match="networks/net' was not found"):
        ask(compute.networks().get(project=PROJECT, network="net"))


def test_zones_tell_what_they_have(google: Fake, compute: Any) -> None:
    kinds = ask(compute.machineTypes().list(**AT, filter="name=a3-highgpu-8g"))["items"]
    assert kinds[0]["accelerators"] == [{"guestAcceleratorType": "nvidia-h100-80gb", "guestAcceleratorCount": 8}]
    with pytest.raises(HttpError, match="was not found"):
        ask(compute.machineTypes().get(project=PROJECT, zone="us-west1-c", machineType="a3-highgpu-8g"))
    assert "nvidia-l4" in [one["name"] for one in ask(compute.acceleratorTypes().list(**AT))["items"]]


def test_only_what_is_asked_for_is_answered(google: Fake, compute: Any) -> None:
    ask(compute.instances().insert(**AT, body=vm()))
    answer = ask(compute.instances().list(**AT, fields="items(name,networkInterfaces/networkIP),nextPageToken"))
    assert set(answer["items"][0]) == {"name", "networkInterfaces"}
    assert list(answer["items"][0]["networkInterfaces"][0]) == ["networkIP"]
