"""Cloud TPU: nodes, and what a zone offers. Their queue is in `tpu_queue`."""

from __future__ import annotations

import re
from math import isinf
from typing import Any

from tests.google.fake import places
from tests.google.fake.cloud import Answer, Call, Cloud, Guest, answers, page
from tests.google.fake.compute.compute import exists
from tests.google.fake.refusals import Refusal, info, status
from tests.google.fake.rows import Row

_T = "tpu.projects.locations."
_TYPE = "type.googleapis.com/google.cloud.tpu.v2."
_NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_KEY, _VALUE = re.compile(r"[a-z][-_a-z0-9]{0,62}"), re.compile(r"[-_a-z0-9]{0,63}")
_METADATA_MOST = 256 * 1024
HOLDING = ("CREATING", "READY", "STOPPED", "STARTING", "STOPPING", "PREEMPTED", "DELETING", "TERMINATED", "REPAIRING")


def operation(cloud: Cloud, target: str, verb: str, seconds: float | None, response: Row | None = None) -> Answer:
    """A new operation on a resource, done after so many seconds (None: when `finish` says so)."""
    place = "/".join(target.split("/")[:4])
    name = f"{place}/operations/operation-{int(cloud.clock.now * 1000)}-{cloud.random.getrandbits(40):010x}"
    metadata = {
        "@type": f"{_TYPE}OperationMetadata",
        "createTime": cloud.clock.stamp(),
        "target": target,
        "verb": verb,
        "apiVersion": "v2",
        "cancelRequested": False,
    }
    row = {"name": name, "metadata": metadata, "done": False}
    cloud.rows.put(name, row)
    if seconds is not None:
        cloud.clock.after(seconds, lambda: finish(cloud, name, response=response))
    return row


def finish(cloud: Cloud, name: str, *, response: Row | None = None, error: Row | None = None) -> None:
    """An operation ends, well or not."""
    row = cloud.rows.get(name)
    if row and not row["done"]:
        result = (
            {"error": error}
            if error
            else {"response": response or {"@type": "type.googleapis.com/google.protobuf.Empty"}}
        )
        cloud.rows.change(name, done=True, metadata=row["metadata"] | {"endTime": cloud.clock.stamp()}, **result)


def zone_of(name: str) -> str:
    """The zone in a resource's name. Raises `Refusal` if Cloud TPU is not there."""
    zone = name.split("/")[3]
    if zone not in places.TPUS:
        text = f"Permission denied on 'locations/{zone}' (or it may not exist)."
        raise Refusal(403, text, details=[info("LOCATION_ACCESS_DENIED", "tpu.googleapis.com", location=zone)])
    return zone


def check_name(what: str, name: str) -> None:
    """Raises `Refusal` for a name that cannot be one."""
    if not _NAME.fullmatch(name):
        raise Refusal(400, f"Invalid {what} {name!r}: it must match {_NAME.pattern}")


def check_node(node: Row, zone: str) -> places.Slice:
    """The slice of a node as it is wished for. Raises `Refusal`."""
    configured = node.get("acceleratorConfig", {})
    if configured and node.get("acceleratorType"):
        raise Refusal(400, "Only one of accelerator_type and accelerator_config may be set.")
    kind = node.get("acceleratorType", "v2-8")
    found = (
        places.slice_of_topology(configured.get("type", ""), configured.get("topology", ""))
        if configured
        else places.slice_of(kind)
    )
    if found is None or found.family not in places.TPUS[zone]:
        shown = f"{configured.get('type')} {configured.get('topology')}" if configured else kind
        raise Refusal(400, f'Accelerator type "{shown}" is not available in zone "{zone}".')
    if node["runtimeVersion"] not in places.VERSIONS:
        raise Refusal(400, f'Runtime version "{node["runtimeVersion"]}" is not available in zone "{zone}".')
    labels = node.get("labels", {})
    if len(labels) > 64 or not all(_KEY.fullmatch(key) and _VALUE.fullmatch(value) for key, value in labels.items()):
        raise Refusal(400, f"Invalid labels: {labels}")
    if sum(len(key) + len(value) for key, value in node.get("metadata", {}).items()) > _METADATA_MOST:
        raise Refusal(400, "The metadata are larger than 256 KiB.")
    return found


def tier_of(node: Row) -> str:
    """How a node is bought."""
    how = node.get("schedulingConfig", {})
    return "reserved" if how.get("reserved") else "spot" if how.get("spot") or how.get("preemptible") else "on-demand"


def check_quota(cloud: Cloud, project: str, zone: str, wanted: list[tuple[Row, places.Slice]]) -> None:
    """Raises `Refusal` if the project may not have so many chips. What is preempted counts until it is deleted."""
    for node, one in wanted:
        tier = tier_of(node)
        metric = one.family if tier == "on-demand" else f"{one.family}-{tier}"
        most = cloud.faults.most(metric, zone)
        if isinf(most):
            continue  # what is held need not be counted
        held = sum(_chips(row) for row in _held(cloud, project, zone) if row["chips"] == metric)
        asked = sum(other.chips for _, other in wanted)
        if held + asked > most:
            limit = f"TPU{one.family.upper()}{tier.title().replace('-', '')}PerProjectPerZoneForTPUAPI"
            text = f"Quota limit '{limit}' has been exceeded. Limit: {most:.0f} in zone {zone}."
            raise Refusal(429, text, details=[info("RATE_LIMIT_EXCEEDED", "tpu.googleapis.com", quota_limit=limit)])


def _held(cloud: Cloud, project: str, zone: str) -> list[Row]:
    rows = [row for _, row in cloud.rows.within(f"projects/{project}/locations/{zone}/nodes")]
    return [{"kind": row["acceleratorType"], "chips": _metric(row)} for row in rows if row["state"] in HOLDING]


def _metric(row: Row) -> str:
    family, tier = row["acceleratorType"].partition("-")[0], tier_of(row)
    return family if tier == "on-demand" else f"{family}-{tier}"


def _chips(held: Row) -> int:
    found = places.slice_of(held["kind"])
    return found.chips if found else 0


def new_node(cloud: Cloud, name: str, wish: Row, found: places.Slice, **more: Any) -> Row:
    """Put a node that is being created. It comes up by `come_up`."""
    network = {"network": "default", "subnetwork": "default"} | wish.get("networkConfig", {})
    row = wish | {
        "name": name,
        "id": cloud.new_id(),
        "acceleratorType": found.kind,
        "state": "CREATING",
        "apiVersion": "V2",
        "createTime": cloud.clock.stamp(),
        "networkConfig": network,
        "serviceAccount": {"email": default_account(name)} | wish.get("serviceAccount", {}),
        **more,
    }
    row.setdefault("acceleratorConfig", _config(found))
    cloud.rows.put(name, row)
    return row


def _config(found: places.Slice) -> Row:
    kind = "V5LITE_POD" if found.family == "v5litepod" else found.family.upper()
    sides = [1, 1] if found.family in ("v5litepod", "v6e", "v2", "v3") else [1, 1, 1]
    while _product(sides) < found.chips:
        sides[-1 - min(range(len(sides)), key=lambda n: sides[-1 - n])] *= 2
    return {"type": kind, "topology": "x".join(map(str, sorted(sides)))}


def _product(sides: list[int]) -> int:
    product = 1
    for side in sides:
        product *= side
    return product


def default_account(name: str) -> str:
    """The service account that machines have if none is named."""
    return f"{sum(name.split('/')[1].encode()):012d}-compute@developer.gserviceaccount.com"


def come_up(cloud: Cloud, name: str) -> bool:
    """A node that is being created or started is ready, and its machines boot. False if it is not there any more."""
    row = cloud.rows.get(name)
    if row is None or row["state"] not in ("CREATING", "STARTING"):
        return False
    found = places.slice_of(row["acceleratorType"])
    assert found
    addresses = [end["ipAddress"] for end in row.get("networkEndpoints", ())] or [
        cloud.new_address() for _ in range(found.hosts)
    ]
    ends = [{"ipAddress": address, "port": 8470, "accessConfig": {}} for address in addresses]
    row = cloud.rows.change(name, state="READY", health="HEALTHY", networkEndpoints=ends) or {}
    cloud.boot(
        Guest(
            name,
            number,
            address,
            zone_of(name),
            f"t1v-n-{row['id'][:8]}-w-{number}",
            str(int(row["id"]) % 10**17 + number),
            _attributes(row, found, number, addresses),
            row["serviceAccount"]["email"],
            tuple(row["serviceAccount"].get("scope", ())),
        )
        for number, address in enumerate(addresses)
    )
    return True


def _attributes(row: Row, found: places.Slice, number: int, addresses: list[str]) -> dict[str, str]:
    """The metadata of one of its machines: the node's, and what the service says of the machine, as users have seen it.

    A machine's own name is not the node's: that is under `instance-id`.
    """
    short, zone = row["name"].rpartition("/")[2], zone_of(row["name"])
    environment = {
        "ACCELERATOR_TYPE": found.kind,
        "CONSUMER_PROJECT_ID": row["name"].split("/")[1],
        "NODE_ID": short,
        "TOPOLOGY": row["acceleratorConfig"]["topology"],
        "WORKER_ID": str(number),
        "ZONE": zone,
    }
    return {
        "accelerator-type": found.kind,
        "agent-worker-number": str(number),
        "instance-id": short,
        "tpu-env": "".join(f"{key}: '{value}'\n" for key, value in environment.items()),
        "worker-network-endpoints": ",".join(f"unknown:unknown:{address}" for address in addresses),
        **row.get("metadata", {}),
    }


def remove(cloud: Cloud, name: str) -> None:
    """A node is gone, and its machines with it."""
    cloud.machines.stop(name, erase=True)
    cloud.rows.put(name, None)


def trouble_with(cloud: Cloud, wish: Row, name: str) -> Row | None:
    """What Compute Engine would say of a node's network and service account: the error of its operation, if any."""
    project, zone = name.split("/")[1], name.split("/")[3]
    config = wish.get("networkConfig", {})
    network = _full(project, config.get("network", "default"), "global/networks")
    subnet = _full(project, config.get("subnetwork", "default"), f"regions/{zone.rpartition('-')[0]}/subnetworks")
    email = wish.get("serviceAccount", {}).get("email", "")
    owner = email.partition("@")[2].partition(".")[0]
    named = [network, subnet] + ([f"projects/{owner}/serviceAccounts/{email}"] if email else [])
    for resource in named:
        if not resource.endswith("developer.gserviceaccount.com") and not exists(cloud, resource):
            return status(
                "INVALID_ARGUMENT", f"Cloud TPU received a bad request. The resource '{resource}' was not found"
            )
    return None


def _full(project: str, name: str, kind: str) -> str:
    name = name.partition("/v1/")[2] or name
    return name if name.startswith("projects/") else f"projects/{project}/{kind}/{name.rpartition('/')[2]}"


def no_more(zone: str) -> Row:
    """The error of a stock-out."""
    text = f'There is no more capacity in the zone "{zone}"; you can try in another zone where Cloud TPU Nodes are'
    return status("RESOURCE_EXHAUSTED", f"{text} offered (see https://cloud.google.com/tpu/docs/regions)")


def get(call: Call) -> Row:
    """What a call names. Raises `Refusal`."""
    zone_of(call.text("name"))
    row = call.cloud.rows.get(call.text("name"))
    if row is None:
        raise Refusal(404, f"Resource '{call.text('name')}' was not found")
    return row


def listing(call: Call, kind: str) -> Answer:
    """One page of a zone's resources, or of all zones' (`-`)."""
    cloud, parent, lag_s = call.cloud, call.text("parent"), call.cloud.faults.lag()
    if parent.endswith("/-"):
        project = parent.split("/")[1]
        zones = [zone for zone in sorted(places.TPUS) if zone not in cloud.faults.silent]
        rows = [
            row for zone in zones for _, row in cloud.rows.within(f"projects/{project}/locations/{zone}/{kind}", lag_s)
        ]
        silent = [f"projects/{project}/locations/{zone}" for zone in sorted(cloud.faults.silent)]
        return page(call, rows, kind) | ({"unreachable": silent} if silent else {})
    zone = zone_of(parent)
    if zone in cloud.faults.silent:
        raise Refusal(503, "The service is currently unavailable.")
    return page(call, [row for _, row in cloud.rows.within(f"{parent}/{kind}", lag_s)], kind)


@answers(f"{_T}nodes.list")
def _list(call: Call) -> Answer:
    return listing(call, "nodes")


@answers(f"{_T}nodes.get", f"{_T}operations.get")
def _get(call: Call) -> Answer:
    return get(call)
