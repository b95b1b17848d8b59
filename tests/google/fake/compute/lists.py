"""Compute Engine's listings, and what is there from the beginning: zones, regions, machine types, accelerator types."""

from __future__ import annotations

from tests.google.fake import places
from tests.google.fake.cloud import Answer, Call, Cloud, answers, page
from tests.google.fake.compute.compute import KINDS, LINK, missing, scope_of
from tests.google.fake.discovery import service
from tests.google.fake.filters import fits
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row

_OPERATIONS = {"zoneOperations": "zone", "regionOperations": "region", "globalOperations": "global"}
_NAMES = {"zoneOperations": "operations", "regionOperations": "operations", "globalOperations": "operations"}


def listed(call: Call, rows: list[Row]) -> Answer:
    """One page of rows that pass the filter."""
    found = [row for row in rows if fits(row, call.text("filter"))]
    if call.text("orderBy") == "creationTimestamp desc":
        found.reverse()
    kind = call.method.response
    return {"kind": f"compute#{kind[0].lower()}{kind[1:]}", "id": call.method.id} | page(
        call, found, "items", "maxResults"
    )


def _rows(call: Call) -> Answer:
    scope = scope_of(call)
    place = scope.rpartition("/")[2]
    if place in call.cloud.faults.silent:
        raise Refusal(503, "The service is currently unavailable.", reason="backendError")
    kind = _NAMES.get(call.method.collection, call.method.collection)
    return listed(call, [row for _, row in call.cloud.rows.within(f"{scope}/{kind}", call.cloud.faults.lag())])


def _aggregated(call: Call) -> Answer:
    """By zone or region; one that is silent is named, and the answer is a success all the same."""
    cloud, kind = call.cloud, call.method.collection
    places_of = cloud.rows.collections(rf"projects/{call.project}/(?:zones|regions)/[^/]+/{kind}")
    silent = [one for one in places_of if one.split("/")[3] in cloud.faults.silent]
    lag_s = cloud.faults.lag()
    pairs = [
        ("/".join(one.split("/")[2:4]), row)
        for one in places_of
        if one not in silent
        for _, row in cloud.rows.within(one, lag_s)
        if fits(row, call.text("filter"))
    ]
    part = page(call, pairs, "items", "maxResults")
    items: dict[str, Row] = {}
    for place, row in part.pop("items", ()):
        items.setdefault(place, {}).setdefault(kind, []).append(row)
    for one in silent:
        items["/".join(one.split("/")[2:4])] = {
            "warning": {"code": "UNREACHABLE", "message": "The scope did not answer."}
        }
    answer: Answer = {
        "kind": f"compute#{kind.removesuffix('s')}AggregatedList",
        "id": call.method.id,
        "items": items,
    } | part
    return answer | ({"unreachables": ["/".join(one.split("/")[2:4]) for one in silent]} if silent else {})


for _kind in (*KINDS, "instances"):
    answers(f"compute.{_kind}.list")(_rows)
    answers(f"compute.{_kind}.aggregatedList")(_aggregated)


def _operation(call: Call) -> Row:
    name = f"{scope_of(call)}/operations/{call.text('operation')}"
    row = call.cloud.rows.get(name)
    if row is None:
        raise missing(name)
    return row


def _wait(call: Call) -> Answer:
    """Answered when the operation is done, or after two minutes."""
    call.cloud.clock.until(lambda: _operation(call)["status"] == "DONE", 120.0)
    return _operation(call)


for _kind in _OPERATIONS:
    answers(f"compute.{_kind}.get")(_operation)
    answers(f"compute.{_kind}.wait")(_wait)
    answers(f"compute.{_kind}.list")(_rows)


@answers("compute.zones.list")
def _zones(call: Call) -> Answer:
    return listed(call, [_zone(call, zone) for zone in places.ZONES])


@answers("compute.zones.get")
def _get_zone(call: Call) -> Answer:
    scope_of(call)
    return _zone(call, call.text("zone"))


def _zone(call: Call, zone: str) -> Row:
    link = f"{LINK}projects/{call.project}"
    row = {"kind": "compute#zone", "name": zone, "status": "UP", "selfLink": f"{link}/zones/{zone}"}
    return row | {"region": f"{link}/regions/{zone.rpartition('-')[0]}"}


@answers("compute.regions.list")
def _regions(call: Call) -> Answer:
    return listed(call, [_region(call, region) for region in places.REGIONS])


@answers("compute.regions.get")
def _get_region(call: Call) -> Answer:
    if call.text("region") not in places.REGIONS:
        raise missing(f"projects/{call.project}/regions/{call.text('region')}")
    return _region(call, call.text("region"))


def _region(call: Call, region: str) -> Row:
    known = service("compute").schemas["Quota"]["properties"]["metric"]["enum"]
    metrics = ["CPUS", *places.METRICS.values(), *(f"PREEMPTIBLE_{metric}" for metric in places.METRICS.values())]
    quotas = [
        {"metric": metric, "limit": min(call.cloud.faults.most(metric, region), 1e6), "usage": 0.0}
        for metric in metrics
        if metric in known
    ]
    zones = [f"{LINK}projects/{call.project}/zones/{zone}" for zone in places.ZONES if zone.startswith(region + "-")]
    return {"kind": "compute#region", "name": region, "status": "UP", "zones": zones, "quotas": quotas}


@answers("compute.machineTypes.list")
def _machine_types(call: Call) -> Answer:
    scope_of(call)
    return listed(
        call, [_machine_type(call, kind) for kind in places.MACHINES if places.has_machine(call.text("zone"), kind)]
    )


@answers("compute.machineTypes.get")
def _get_machine_type(call: Call) -> Answer:
    zone, kind = call.text("zone"), call.text("machineType")
    if not places.has_machine(zone, kind):
        raise missing(f"projects/{call.project}/zones/{zone}/machineTypes/{kind}")
    return _machine_type(call, kind)


def _machine_type(call: Call, kind: str) -> Row:
    cpus, memory, gpu, gpus = places.MACHINES[kind]
    row = {
        "kind": "compute#machineType",
        "name": kind,
        "guestCpus": cpus,
        "memoryMb": memory,
        "zone": call.text("zone"),
    }
    return row | ({"accelerators": [{"guestAcceleratorType": gpu, "guestAcceleratorCount": gpus}]} if gpu else {})


@answers("compute.acceleratorTypes.list")
def _accelerators(call: Call) -> Answer:
    scope_of(call)
    return listed(call, [_accelerator(call.cloud, kind) for kind in _gpus(call.text("zone"))])


@answers("compute.acceleratorTypes.get")
def _get_accelerator(call: Call) -> Answer:
    zone, kind = call.text("zone"), call.text("acceleratorType")
    if kind not in _gpus(zone):
        raise missing(f"projects/{call.project}/zones/{zone}/acceleratorTypes/{kind}")
    return _accelerator(call.cloud, kind)


def _gpus(zone: str) -> list[str]:
    return sorted({gpu for kind, (_, _, gpu, _) in places.MACHINES.items() if gpu and places.has_machine(zone, kind)})


def _accelerator(cloud: Cloud, kind: str) -> Row:
    return {"kind": "compute#acceleratorType", "name": kind, "maximumCardsPerInstance": 16}


@answers("compute.projects.get")
def _project(call: Call) -> Answer:
    return {"kind": "compute#project", "name": call.project}


@answers("compute.images.getFromFamily")
def _from_family(call: Call) -> Answer:
    rows = [row for _, row in call.cloud.rows.within(f"projects/{call.project}/global/images")]
    found = [row for row in rows if row.get("family") == call.text("family")]
    if not found:
        raise missing(f"projects/{call.project}/global/images/family/{call.text('family')}")
    return max(found, key=lambda row: (row["creationTimestamp"], row["name"]))
