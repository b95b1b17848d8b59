"""The fake's Cloud TPU, asked with Google's own client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from googleapiclient.errors import HttpError

from tests.google.fake import Fake
from tests.google.support.client import ask

ZONE = "projects/test-project/locations/us-central2-b"
OTHER = "projects/test-project/locations/us-east5-a"


@pytest.fixture
def tpu(talk: Callable[..., Any]) -> Any:
    return talk("tpu").projects().locations()


def wish(node: str = "a", kind: str = "v4-16", zone: str = ZONE, **more: Any) -> dict[str, Any]:
    spec = {"parent": zone, "nodeId": node, "node": {"acceleratorType": kind, "runtimeVersion": "tpu-ubuntu2204-base"}}
    return {"tpu": {"nodeSpec": [spec]}, **more}


def create(tpu: Any, name: str, body: dict[str, Any], zone: str = ZONE, **more: Any) -> dict[str, Any]:
    return ask(tpu.queuedResources().create(parent=zone, queuedResourceId=name, body=body, **more))


def state(tpu: Any, name: str, zone: str = ZONE) -> str:
    found: str = ask(tpu.queuedResources().get(name=f"{zone}/queuedResources/{name}"))["state"]["state"]
    return found


def nodes(tpu: Any, zone: str = ZONE) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ask(tpu.nodes().list(parent=zone)).get("nodes", [])
    return found


def test_a_queued_resource_goes_through_its_states(google: Fake, tpu: Any) -> None:
    made = create(tpu, "q", wish())
    seen = [state(tpu, "q")]
    for _ in range(90):
        google.clock.advance(1)
        if state(tpu, "q") != seen[-1]:
            seen.append(state(tpu, "q"))
    assert seen == ["ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING", "ACTIVE"]
    assert ask(tpu.operations().get(name=made["name"]))["done"]
    (node,) = nodes(tpu)
    assert (node["state"], node["health"], len(node["networkEndpoints"])) == ("READY", "HEALTHY", 2)
    assert node["queuedResource"] == f"{ZONE}/queuedResources/q"


def test_a_multislice_has_nodes_by_number(google: Fake, tpu: Any) -> None:
    body = wish(kind="v4-8")
    spec = body["tpu"]["nodeSpec"][0]
    del spec["nodeId"]
    create(tpu, "q", body | {"tpu": {"nodeSpec": [spec | {"multisliceParams": {"nodeCount": 3, "nodeIdPrefix": "m"}}]}})
    google.clock.advance(100)
    assert [node["name"].rpartition("/")[2] for node in nodes(tpu)] == ["m-0", "m-1", "m-2"]
    assert all(node["multisliceNode"] for node in nodes(tpu))


def test_a_stock_out_makes_wait_until_there_is_stock_or_the_wait_is_over(google: Fake, tpu: Any) -> None:
    google.faults.stock_out("us-central2-b")
    create(tpu, "patient", wish("a"))
    create(tpu, "hasty", wish("b", queueingPolicy={"validUntilDuration": "600s"}))
    google.clock.advance(700)
    assert (state(tpu, "patient"), state(tpu, "hasty")) == ("WAITING_FOR_RESOURCES", "FAILED")
    google.faults.restock("us-central2-b")
    google.clock.advance(100)
    assert (state(tpu, "patient"), state(tpu, "hasty")) == ("ACTIVE", "FAILED")


def test_a_stock_out_may_fail_at_once(google: Fake, tpu: Any) -> None:
    google.faults.stock_out("us-central2-b", "v4-*", fails=True)
    create(tpu, "q", wish())
    google.clock.advance(100)
    found = ask(tpu.queuedResources().get(name=f"{ZONE}/queuedResources/q"))
    assert found["state"]["state"] == "FAILED"
    assert "no more capacity in the zone" in found["state"]["failedData"]["error"]["message"]


def test_a_preempted_node_suspends_its_queued_resource_and_holds_quota_until_it_is_deleted(
    google: Fake, tpu: Any
) -> None:
    google.faults.limit("v4-spot", 8, place="us-central2-b")
    create(tpu, "q", wish(spot={}))
    google.clock.advance(100)
    google.preempt("a")
    assert (nodes(tpu)[0]["state"], state(tpu, "q")) == ("PREEMPTED", "SUSPENDING")
    google.clock.advance(60)
    assert state(tpu, "q") == "SUSPENDED"
    with pytest.raises(HttpError) as full:
        create(tpu, "r", wish("b", spot={}))
    assert full.value.status_code == 429
    assert "Quota limit" in full.value.reason
    ask(tpu.queuedResources().delete(name=f"{ZONE}/queuedResources/q"))
    google.clock.advance(60)
    create(tpu, "r", wish("b", spot={}))
    assert nodes(tpu) == []


def test_a_queued_resource_with_nodes_is_deleted_only_by_force(google: Fake, tpu: Any) -> None:
    create(tpu, "q", wish())
    google.clock.advance(100)
    with pytest.raises(HttpError) as refused:
        ask(tpu.queuedResources().delete(name=f"{ZONE}/queuedResources/q"))
    assert refused.value.status_code == 400
    made = ask(tpu.queuedResources().delete(name=f"{ZONE}/queuedResources/q", force=True))
    assert (state(tpu, "q"), nodes(tpu)[0]["state"]) == ("DELETING", "DELETING")
    google.clock.advance(60)
    assert ask(tpu.operations().get(name=made["name"]))["done"]
    assert ask(tpu.queuedResources().list(parent=ZONE)) == ask(tpu.nodes().list(parent=ZONE)) == {}


def test_a_node_that_is_deleted_suspends_its_queued_resource(google: Fake, tpu: Any) -> None:
    create(tpu, "q", wish())
    google.clock.advance(100)
    ask(tpu.nodes().delete(name=f"{ZONE}/nodes/a"))
    google.clock.advance(100)
    assert (nodes(tpu), state(tpu, "q")) == ([], "SUSPENDED")


def test_a_deletion_may_hang(google: Fake, tpu: Any) -> None:
    create(tpu, "q", wish())
    google.clock.advance(100)
    google.faults.hang_deletion("q")
    made = ask(tpu.queuedResources().delete(name=f"{ZONE}/queuedResources/q", force=True))
    google.clock.advance(86400)
    assert not ask(tpu.operations().get(name=made["name"]))["done"]
    google.faults.let_go("q")
    ask(tpu.queuedResources().delete(name=f"{ZONE}/queuedResources/q", force=True))
    google.clock.advance(60)
    assert nodes(tpu) == []


def test_names_that_are_taken_and_requests_that_come_twice(google: Fake, tpu: Any) -> None:
    first = create(tpu, "q", wish(), requestId="4bb0a6e5-90bd-4e6c-a6b5-0b3e6a4b0b6e")
    assert create(tpu, "q", wish(), requestId="4bb0a6e5-90bd-4e6c-a6b5-0b3e6a4b0b6e") == first
    with pytest.raises(HttpError) as taken:
        create(tpu, "q", wish())
    assert taken.value.status_code == 409
    assert len(google.rows("queuedResources")) == 1


@pytest.mark.parametrize(
    ("kind", "zone", "said"),
    [
        ("v4-12", ZONE, "not available in zone"),
        ("v6e-8", ZONE, "not available in zone"),
        ("v4-8", "projects/test-project/locations/mars-a", "may not exist"),
    ],
)
def test_what_a_zone_does_not_have_is_refused(google: Fake, tpu: Any, kind: str, zone: str, said: str) -> None:
    with pytest.raises(HttpError, match=said):
        create(tpu, "q", wish(kind=kind, zone=zone), zone)


def test_the_network_may_be_gone(google: Fake, tpu: Any) -> None:
    body = wish()
    body["tpu"]["nodeSpec"][0]["node"]["networkConfig"] = {"network": "lost", "subnetwork": "lost"}
    create(tpu, "q", body)
    google.clock.advance(100)
    found = ask(tpu.queuedResources().get(name=f"{ZONE}/queuedResources/q"))["state"]
    assert "networks/lost' was not found" in found["failedData"]["error"]["message"]


def test_a_node_by_itself_comes_up_or_is_gone_again(google: Fake, tpu: Any) -> None:
    node = {"acceleratorType": "v4-8", "runtimeVersion": "tpu-ubuntu2204-base"}
    good = ask(tpu.nodes().create(parent=ZONE, nodeId="good", body=node))
    google.clock.advance(100)
    google.faults.stock_out()
    bad = ask(tpu.nodes().create(parent=ZONE, nodeId="bad", body=node))
    google.clock.advance(100)
    assert ask(tpu.operations().get(name=good["name"]))["response"]["state"] == "READY"
    assert ask(tpu.operations().get(name=bad["name"]))["error"]["code"] == 8
    assert [one["name"] for one in nodes(tpu)] == [f"{ZONE}/nodes/good"]


def test_all_zones_are_listed_by_one_request_in_pages(google: Fake, tpu: Any) -> None:
    for n in range(3):
        create(tpu, f"q{n}", wish(f"n{n}", "v4-8"))
    create(tpu, "r", wish("n", "v6e-8", OTHER), OTHER)
    found, token = [], None
    while True:
        page = ask(tpu.queuedResources().list(parent="projects/test-project/locations/-", pageSize=3, pageToken=token))
        found += [one["name"].rpartition("/")[2] for one in page["queuedResources"]]
        if not (token := page.get("nextPageToken")):
            break
    assert found == ["q0", "q1", "q2", "r"]
    google.faults.silence("us-east5-a")
    page = ask(tpu.queuedResources().list(parent="projects/test-project/locations/-"))
    assert (len(page["queuedResources"]), page["unreachable"]) == (3, [OTHER])


def test_lists_lag_both_ways(google: Fake, tpu: Any) -> None:
    google.faults.lag_lists(200)
    create(tpu, "q", wish())
    google.clock.advance(100)
    assert (nodes(tpu), state(tpu, "q")) == ([], "ACTIVE")
    google.clock.advance(200)
    ask(tpu.queuedResources().delete(name=f"{ZONE}/queuedResources/q", force=True))
    google.clock.advance(100)
    assert len(nodes(tpu)) == 1
    assert google.rows("nodes") == {}


def test_maintenance_is_announced_and_comes(google: Fake, tpu: Any) -> None:
    create(tpu, "q", wish())
    google.clock.advance(100)
    google.maintain("a", in_s=600)
    assert nodes(tpu)[0]["upcomingMaintenance"]["maintenanceStatus"] == "PENDING"
    google.clock.advance(610)
    assert nodes(tpu)[0]["health"] == "UNHEALTHY_MAINTENANCE"
    google.clock.advance(100)
    assert (nodes(tpu)[0]["state"], "upcomingMaintenance" in nodes(tpu)[0]) == ("READY", False)
