"""A VM as Compute Engine shows it, from how it was wished for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.google.fake.cloud import Cloud, fingerprint
from tests.google.fake.compute.compute import LINK, full
from tests.google.fake.rows import Row


def put(cloud: Cloud, name: str, body: Row, **more: object) -> None:
    """A VM that is about to be made, with its disks."""
    project, zone, short = name.split("/")[1], name.split("/")[3], name.rpartition("/")[2]
    region = zone.rpartition("-")[0]
    metadata = {"kind": "compute#metadata"} | body.get("metadata", {})
    row = body | {
        "kind": "compute#instance",
        "id": cloud.new_id(),
        "name": short,
        "creationTimestamp": cloud.clock.compute_stamp(),
        "status": "PROVISIONING",
        "zone": f"{LINK}projects/{project}/zones/{zone}",
        "machineType": f"{LINK}projects/{project}/zones/{zone}/machineTypes/{body['machineType'].rpartition('/')[2]}",
        "selfLink": LINK + name,
        "networkInterfaces": list(_nets(cloud, project, region, body.get("networkInterfaces", ()))),
        "disks": list(_disks(cloud, name, body.get("disks", ()))),
        "metadata": metadata | {"fingerprint": fingerprint(metadata.get("items"))},
        "labelFingerprint": fingerprint(body.get("labels")),
        "tags": body.get("tags", {}) | {"fingerprint": fingerprint(body.get("tags"))},
        "scheduling": _scheduling(body.get("scheduling", {})),
        **more,
    }
    cloud.rows.put(name, {key: value for key, value in row.items() if key != "params"})


def _nets(cloud: Cloud, project: str, region: str, wishes: Iterable[Row]) -> Iterator[Row]:
    for n, net in enumerate(wishes):
        network = full(project, net.get("network", "global/networks/default"), "networks", "global")
        subnet = full(project, net.get("subnetwork", "default"), "subnetworks", region)
        links = {"network": LINK + network, "subnetwork": LINK + subnet, "networkIP": cloud.new_address()}
        yield net | links | {"name": f"nic{n}", "kind": "compute#networkInterface"}


def _disks(cloud: Cloud, vm: str, wishes: Iterable[Row]) -> Iterator[Row]:
    """The disks of a VM; those that are new are made."""
    scope, short = vm.split("/instances/")
    for n, disk in enumerate(wishes):
        wish = disk.get("initializeParams", {})
        called = wish.get("diskName", short if not n else f"{short}-{n}")
        kept = {key: value for key, value in disk.items() if key != "initializeParams"}
        kept |= {"index": n, "kind": "compute#attachedDisk", "deviceName": disk.get("deviceName", called)}
        if disk.get("type") != "SCRATCH" and "source" not in disk:
            path = f"{scope}/disks/{called}"
            size = str(wish.get("diskSizeGb", disk.get("diskSizeGb", "10")))
            about = {
                "name": called,
                "sizeGb": size,
                "users": [LINK + vm],
                "selfLink": LINK + path,
                "id": cloud.new_id(),
            }
            cloud.rows.put(path, about)
            kept |= {"source": LINK + path}
        yield kept


def _scheduling(wish: Row) -> Row:
    spot = wish.get("provisioningModel") == "SPOT" or wish.get("preemptible", False)
    model = "SPOT" if spot else "STANDARD"
    host = "TERMINATE" if spot else "MIGRATE"
    row = {
        "provisioningModel": model,
        "preemptible": spot,
        "automaticRestart": not spot,
        "onHostMaintenance": host,
    } | wish
    return row | ({"instanceTerminationAction": "STOP"} if spot and "instanceTerminationAction" not in wish else {})
