"""Queued resources: how they wait, come up, are suspended, fail and go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from tests.google.fake.cloud import Answer, Call, Cloud, answers
from tests.google.fake.compute.compute import exists
from tests.google.fake.places import Slice
from tests.google.fake.refusals import Refusal, status
from tests.google.fake.rows import Row
from tests.google.fake.tpu.tpu import (
    HOLDING,
    check_name,
    check_node,
    check_quota,
    come_up,
    finish,
    get,
    listing,
    new_node,
    no_more,
    operation,
    remove,
    trouble_with,
    zone_of,
)

_Q = "tpu.projects.locations.queuedResources."
_TYPE = "type.googleapis.com/google.cloud.tpu.v2."
_DATA = {
    "ACCEPTED": "acceptedData",
    "ACTIVE": "activeData",
    "CREATING": "creatingData",
    "DELETING": "deletingData",
    "FAILED": "failedData",
    "PROVISIONING": "provisioningData",
    "SUSPENDED": "suspendedData",
    "SUSPENDING": "suspendingData",
}


@answers(f"{_Q}create")
def _create(call: Call) -> Answer:
    cloud, parent, short = call.cloud, call.text("parent"), call.text("queuedResourceId")
    zone = zone_of(parent)
    check_name("queuedResourceId", short)
    name = f"{parent}/queuedResources/{short}"
    if cloud.rows.get(name):
        raise Refusal(409, f"Resource '{name}' already exists")
    specs = call.body.get("tpu", {}).get("nodeSpec", [])
    if len(specs) != 1:
        raise Refusal(400, "Exactly one node_spec is wanted.")
    if "spot" in call.body and "guaranteed" in call.body:
        raise Refusal(400, "Only one of spot and guaranteed may be set.")
    wish = _wish(call.body, specs[0]["node"])
    found = check_node(wish, zone)
    names = _node_names(specs[0], parent, short)
    for node in names:
        if cloud.rows.get(node):
            raise Refusal(409, f"Resource '{node}' already exists")
    _check_reservation(cloud, call.body)
    check_quota(cloud, call.project, zone, [(wish, found)] * len(names))
    row = call.body | {"name": name, "createTime": cloud.clock.stamp(), "state": _state("ACCEPTED")}
    cloud.rows.put(name, row)
    cloud.clock.after(cloud.delays.accept, lambda: _wait(cloud, name))
    if (seconds := _valid_for(cloud, call.body)) is not None:
        cloud.clock.after(max(seconds, 0.0), lambda: _too_late(cloud, name))
    return operation(cloud, name, "create", cloud.delays.operation, {"@type": f"{_TYPE}QueuedResource"} | row)


def _wish(body: Row, node: Row) -> Row:
    """The node as it will be: how it is bought is said by the queued resource."""
    how = dict(node.get("schedulingConfig", {}))
    if "spot" in body:
        how["spot"] = True
    if "guaranteed" in body and body.get("reservationName"):
        how["reserved"] = True
    return node | ({"schedulingConfig": how} if how else {})


def _node_names(spec: Row, parent: str, short: str) -> list[str]:
    """Full names of the nodes that a spec stands for. Raises `Refusal`."""
    if spec["parent"] != parent:
        raise Refusal(400, f"Invalid parent {spec['parent']!r} of the node: it must be {parent!r}.")
    several = spec.get("multisliceParams")
    if bool(several) == bool(spec.get("nodeId")):
        raise Refusal(400, "Exactly one of node_id and multislice_params must be set.")
    if not several:
        check_name("nodeId", spec["nodeId"])
        return [f"{parent}/nodes/{spec['nodeId']}"]
    if several["nodeCount"] < 2:
        raise Refusal(400, "multislice_params.node_count must be greater than 1.")
    prefix = several.get("nodeIdPrefix", short)
    check_name("nodeIdPrefix", prefix)
    return [f"{parent}/nodes/{prefix}-{n}" for n in range(several["nodeCount"])]


def _check_reservation(cloud: Cloud, body: Row) -> None:
    name = body.get("reservationName", "")
    if name and not exists(cloud, name.replace("/locations/", "/zones/")):
        raise Refusal(400, f"Reservation '{name}' was not found.")


def _valid_for(cloud: Cloud, body: Row) -> float | None:
    policy = body.get("queueingPolicy", {})
    if "validUntilDuration" in policy:
        return float(policy["validUntilDuration"].removesuffix("s"))
    until = policy.get("validUntilTime") or policy.get("validInterval", {}).get("endTime")
    return datetime.fromisoformat(until[:19] + "+00:00").timestamp() - cloud.clock.now if until else None


def _state(state: str, initiator: str = "SERVICE", **data: Any) -> Row:
    row: Row = {"state": state, "stateInitiator": initiator}
    return row | ({_DATA[state]: data} if state in _DATA else {})


def state_of(cloud: Cloud, name: str) -> str:
    """The state of a queued resource; empty: there is none."""
    row = cloud.rows.get(name)
    return row["state"]["state"] if row else ""


def _wait(cloud: Cloud, name: str) -> None:
    if state_of(cloud, name) == "ACCEPTED":
        cloud.rows.change(name, state=_state("WAITING_FOR_RESOURCES"))
        cloud.clock.after(cloud.delays.wait, lambda: _go_on(cloud, name))


def _go_on(cloud: Cloud, name: str) -> None:
    """Leave the queue if there is stock."""
    row = cloud.rows.get(name)
    if not row or row["state"]["state"] != "WAITING_FOR_RESOURCES":
        return
    _, zone, wish, found = _plan(row)
    lack = cloud.faults.stock(zone, found.kind) if not row.get("reservationName") else ""
    if lack == "waits":
        return
    trouble = no_more(zone) if lack else trouble_with(cloud, wish, name) or _over_quota(cloud, row)
    if trouble:
        cloud.rows.change(name, state=_state("FAILED", error=trouble))
        return
    cloud.rows.change(name, state=_state("PROVISIONING"))
    cloud.clock.after(cloud.delays.provision, lambda: _provision(cloud, name))


def _over_quota(cloud: Cloud, row: Row) -> Row | None:
    """Others may have used it up while this one waited: then it fails. A belief."""
    spec, zone, wish, found = _plan(row)
    parent, short = row["name"].split("/queuedResources/")
    try:
        check_quota(cloud, parent.split("/")[1], zone, [(wish, found)] * len(_node_names(spec, parent, short)))
    except Refusal as refusal:
        return status("RESOURCE_EXHAUSTED", refusal.message)
    return None


def _plan(row: Row) -> tuple[Row, str, Row, Slice]:
    spec = row["tpu"]["nodeSpec"][0]
    zone = zone_of(row["name"])
    wish = _wish(row, spec["node"])
    return spec, zone, wish, check_node(wish, zone)


def _provision(cloud: Cloud, name: str) -> None:
    row = cloud.rows.get(name)
    if not row or row["state"]["state"] != "PROVISIONING":
        return
    spec, _, wish, found = _plan(row)
    parent, short = name.split("/queuedResources/")
    names = _node_names(spec, parent, short)
    for node in names:
        new_node(cloud, node, wish, found, queuedResource=name, multisliceNode="multisliceParams" in spec)
    cloud.clock.after(cloud.delays.boot, lambda: _activate(cloud, name, names))


def _activate(cloud: Cloud, name: str, names: list[str]) -> None:
    if state_of(cloud, name) == "PROVISIONING":
        up = [come_up(cloud, node) for node in names]
        if all(up):
            cloud.rows.change(name, state=_state("ACTIVE"))


def _too_late(cloud: Cloud, name: str) -> None:
    if state_of(cloud, name) in ("ACCEPTED", "WAITING_FOR_RESOURCES"):
        text = "The queued resource was not provisioned within its valid interval."
        cloud.rows.change(name, state=_state("FAILED", error=status("DEADLINE_EXCEEDED", text)))


def restocked(cloud: Cloud) -> None:
    """There may be stock again: who waits is asked again."""
    with cloud.clock.lock:
        for name, _ in list(cloud.rows.matching(r"projects/[^/]+/locations/[^/]+/queuedResources")):
            _go_on(cloud, name)


def nodes_of(cloud: Cloud, name: str) -> list[str]:
    """The nodes of a queued resource that hold quota."""
    nodes = cloud.rows.within(f"{name.split('/queuedResources/')[0]}/nodes")
    return [node for node, row in nodes if row.get("queuedResource") == name and row["state"] in HOLDING]


def suspend(cloud: Cloud, name: str, initiator: str) -> None:
    """Its nodes were taken, or deleted one by one: what is left of it goes, too."""
    if state_of(cloud, name) not in ("ACTIVE", "PROVISIONING"):
        return
    cloud.rows.change(name, state=_state("SUSPENDING", initiator))
    cloud.clock.after(cloud.delays.suspend, lambda: _suspended(cloud, name, initiator))


def _suspended(cloud: Cloud, name: str, initiator: str) -> None:
    if state_of(cloud, name) != "SUSPENDING":
        return
    for node in nodes_of(cloud, name):
        if (cloud.rows.get(node) or {}).get("state") not in ("PREEMPTED", "DELETING"):
            cloud.machines.stop(node, erase=True)
            cloud.rows.change(node, state="PREEMPTED" if initiator == "SERVICE" else "TERMINATED", health=None)
    cloud.rows.change(name, state=_state("SUSPENDED", initiator))


@answers(f"{_Q}delete")
def _delete(call: Call) -> Answer:
    cloud, row = call.cloud, get(call)
    name, state = row["name"], row["state"]["state"]
    nodes = nodes_of(cloud, name)
    if not call.parameters.get("force") and nodes and state not in ("ACCEPTED", "FAILED", "SUSPENDED"):
        text = f"The queued resource {name} is in state {state} and has nodes; delete them first, or use force."
        raise Refusal(400, text, status="FAILED_PRECONDITION")
    cloud.rows.change(name, state=_state("DELETING", "USER"))
    for node in nodes:
        cloud.rows.change(node, state="DELETING")
    made = operation(cloud, name, "delete", None)
    if not any(cloud.faults.hangs(one) for one in (name, *nodes)):
        cloud.clock.after(cloud.delays.delete, lambda: _deleted(cloud, name, made))
    return made


def _deleted(cloud: Cloud, name: str, made: Row) -> None:
    for node in nodes_of(cloud, name):
        remove(cloud, node)
    cloud.rows.put(name, None)
    finish(cloud, made["name"])


@answers(f"{_Q}reset")
def _reset(call: Call) -> Answer:
    cloud, row = call.cloud, get(call)
    if row["state"]["state"] != "SUSPENDED":
        raise Refusal(400, "Only a SUSPENDED queued resource can be reset.", status="FAILED_PRECONDITION")
    for node in nodes_of(cloud, row["name"]):
        remove(cloud, node)
    cloud.rows.change(row["name"], state=_state("WAITING_FOR_RESOURCES"))
    cloud.clock.after(cloud.delays.wait, lambda: _go_on(cloud, row["name"]))
    return operation(cloud, row["name"], "reset", cloud.delays.operation)


@answers(f"{_Q}get")
def _get(call: Call) -> Answer:
    return get(call)


@answers(f"{_Q}list")
def _list(call: Call) -> Answer:
    return listing(call, "queuedResources")
