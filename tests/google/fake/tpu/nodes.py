"""What can be done with a TPU node, and what a zone offers."""

from __future__ import annotations

from tests.google.fake import places
from tests.google.fake.cloud import Answer, Call, Cloud, answers, page
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row
from tests.google.fake.tpu.queue import nodes_of, suspend
from tests.google.fake.tpu.tpu import (
    check_name,
    check_node,
    check_quota,
    come_up,
    finish,
    get,
    new_node,
    no_more,
    operation,
    remove,
    tier_of,
    trouble_with,
    zone_of,
)

_T = "tpu.projects.locations."
_TYPE = "type.googleapis.com/google.cloud.tpu.v2."


@answers(f"{_T}nodes.create")
def _create(call: Call) -> Answer:
    cloud, parent, short = call.cloud, call.text("parent"), call.text("nodeId")
    zone = zone_of(parent)
    check_name("nodeId", short)
    name = f"{parent}/nodes/{short}"
    found = check_node(call.body, zone)
    if cloud.rows.get(name):
        raise Refusal(409, f"Resource '{name}' already exists")
    check_quota(cloud, call.project, zone, [(call.body, found)])
    trouble = trouble_with(cloud, call.body, name)
    if not trouble and tier_of(call.body) != "reserved" and cloud.faults.stock(zone, found.kind):
        trouble = no_more(zone)
    new_node(cloud, name, call.body, found)
    made = operation(cloud, name, "create", None)
    cloud.clock.after(
        cloud.delays.boot if not trouble else cloud.delays.provision, lambda: _made(cloud, name, made, trouble)
    )
    return made


def _made(cloud: Cloud, name: str, made: Row, trouble: Row | None) -> None:
    if trouble:
        remove(cloud, name)  # a node that could not be made does not stay: a belief
        finish(cloud, made["name"], error=trouble)
    elif come_up(cloud, name):
        finish(cloud, made["name"], response={"@type": f"{_TYPE}Node"} | (cloud.rows.get(name) or {}))


@answers(f"{_T}nodes.delete")
def _delete(call: Call) -> Answer:
    return delete(call.cloud, get(call)["name"])


def delete(cloud: Cloud, name: str) -> Answer:
    """A node is on its way out. The operation that is answered ends when it is gone."""
    cloud.rows.change(name, state="DELETING")
    made = operation(cloud, name, "delete", None)
    if not cloud.faults.hangs(name):
        cloud.clock.after(cloud.delays.delete, lambda: _deleted(cloud, name, made))
    return made


def _deleted(cloud: Cloud, name: str, made: Row) -> None:
    of = (cloud.rows.get(name) or {}).get("queuedResource", "")
    remove(cloud, name)
    finish(cloud, made["name"])
    if of and not nodes_of(cloud, of):
        suspend(cloud, of, "USER")


@answers(f"{_T}nodes.stop")
def _stop(call: Call) -> Answer:
    cloud, row = call.cloud, get(call)
    found = places.slice_of(row["acceleratorType"])
    if row["state"] != "READY" or not found or found.hosts > 1:
        raise Refusal(400, "Only a TPU VM that is READY and has one host can be stopped.", status="FAILED_PRECONDITION")
    cloud.machines.stop(row["name"], erase=False)
    cloud.rows.change(row["name"], state="STOPPED")
    return operation(cloud, row["name"], "stop", cloud.delays.operation)


@answers(f"{_T}nodes.start")
def _start(call: Call) -> Answer:
    cloud, row = call.cloud, get(call)
    if row["state"] != "STOPPED":
        raise Refusal(400, "Only a TPU VM that is STOPPED can be started.", status="FAILED_PRECONDITION")
    cloud.rows.change(row["name"], state="STARTING")
    cloud.clock.after(cloud.delays.boot, lambda: come_up(cloud, row["name"]) and None)
    return operation(cloud, row["name"], "start", cloud.delays.boot)


@answers(f"{_T}nodes.patch")
def _patch(call: Call) -> Answer:
    cloud, row = call.cloud, get(call)
    changeable = {"description", "labels", "tags", "metadata"}
    fields = set(call.text("updateMask").split(","))
    if not fields <= changeable:
        raise Refusal(400, f"Only these fields can be updated: {', '.join(sorted(changeable))}.")
    cloud.rows.change(row["name"], **{field: call.body.get(field) for field in fields})
    return operation(cloud, row["name"], "update", cloud.delays.operation)


@answers(f"{_T}acceleratorTypes.list")
def _kinds(call: Call) -> Answer:
    zone = zone_of(call.text("parent"))
    rows = [{"name": f"{call.text('parent')}/acceleratorTypes/{kind}", "type": kind} for kind in places.kinds(zone)]
    return page(call, rows, "acceleratorTypes")


@answers(f"{_T}acceleratorTypes.get")
def _kind(call: Call) -> Answer:
    name = call.text("name")
    kind = name.rpartition("/")[2]
    if kind not in places.kinds(zone_of(name)):
        raise Refusal(404, f"Resource '{name}' was not found")
    return {"name": name, "type": kind}


@answers(f"{_T}runtimeVersions.list")
def _versions(call: Call) -> Answer:
    zone_of(call.text("parent"))
    rows = [{"name": f"{call.text('parent')}/runtimeVersions/{one}", "version": one} for one in places.VERSIONS]
    return page(call, rows, "runtimeVersions")


@answers(f"{_T}list")
def _locations(call: Call) -> Answer:
    rows = [{"name": f"{call.text('name')}/locations/{zone}", "locationId": zone} for zone in sorted(places.TPUS)]
    return page(call, rows, "locations")


@answers(f"{_T}get")
def _location(call: Call) -> Answer:
    return {"name": call.text("name"), "locationId": zone_of(call.text("name"))}


@answers(f"{_T}operations.list")
def _operations(call: Call) -> Answer:
    name = call.text("name")
    zone_of(name)
    return page(call, [row for _, row in call.cloud.rows.within(f"{name}/operations")], "operations")
