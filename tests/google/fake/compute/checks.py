"""What Compute Engine refuses in a VM, and what a VM may lack: quota, stock, a place in a reservation."""

from __future__ import annotations

from math import isinf
from typing import Any

from tests.google.fake import places
from tests.google.fake.cloud import Cloud
from tests.google.fake.compute.compute import error, exists, full, missing
from tests.google.fake.refusals import Refusal
from tests.google.fake.rows import Row

_HELD = ("PROVISIONING", "STAGING", "RUNNING", "STOPPING", "REPAIRING", "PENDING")
_PUBLIC = (
    "debian-cloud",
    "cos-cloud",
    "ubuntu-os-cloud",
    "ubuntu-os-accelerator-images",
    "deeplearning-platform-release",
)
_METADATA_MOST, _VALUE_MOST = 512 * 1024, 256 * 1024


def check_instance(cloud: Cloud, project: str, zone: str, body: Row, prefix: str = "resource") -> None:
    """Raises `Refusal` for what the API refuses at once."""
    kind = body.get("machineType", "").rpartition("/")[2]
    if not places.has_machine(zone, kind):
        text = f"Invalid value for field '{prefix}.machineType': '{body.get('machineType', '')}'."
        raise Refusal(400, f"{text} Machine type with name '{kind}' does not exist in zone '{zone}'.", reason="invalid")
    _check_disks(cloud, project, body, prefix)
    _check_networks(cloud, project, zone, body, prefix)
    _check_scheduling(body.get("scheduling", {}), bool(places.MACHINES[kind][2]), body, prefix)
    for one in body.get("serviceAccounts", ()):
        email = one.get("email", "default")
        owner = email.partition("@")[2].partition(".")[0]
        default = email == "default" or owner == "developer"
        if not default and not exists(cloud, f"projects/{owner}/serviceAccounts/{email}"):
            text = f"The user does not have access to service account '{email}'. Ask a project owner to grant you the"
            raise Refusal(400, f"{text} iam.serviceAccountUser role on the service account", reason="invalid")
    for policy in body.get("resourcePolicies", ()):
        if not exists(cloud, name := full(project, policy, "resourcePolicies", zone.rpartition("-")[0])):
            raise missing(name)
    items = body.get("metadata", {}).get("items", ())
    if any(len(one.get("value", "")) > _VALUE_MOST for one in items) or len(str(items)) > _METADATA_MOST:
        raise Refusal(400, f"Value for field '{prefix}.metadata.items' is too large.", reason="invalid")
    if len({one["key"] for one in items}) < len(items):
        raise Refusal(400, f"Invalid value for field '{prefix}.metadata': duplicate keys", reason="invalid")


def _check_disks(cloud: Cloud, project: str, body: Row, prefix: str) -> None:
    boot = [disk for disk in body.get("disks", ()) if disk.get("boot")]
    if len(boot) != 1:
        raise Refusal(
            400, f"Invalid value for field '{prefix}.disks': '{len(boot)}'. One boot disk is wanted.", reason="invalid"
        )
    if "source" in boot[0]:
        return
    image = boot[0].get("initializeParams", {}).get("sourceImage", "")
    name = full(project, image, "images", "global")
    if not image:
        raise Refusal(400, f"Invalid value for field '{prefix}.disks[0]': no sourceImage", reason="invalid")
    if name.split("/")[1] in _PUBLIC:
        return
    family = "/images/family/" in name
    rows = [row for _, row in cloud.rows.within(f"projects/{name.split('/')[1]}/global/images")]
    if not any(row.get("family" if family else "name") == name.rpartition("/")[2] for row in rows):
        raise missing(name)


def _check_networks(cloud: Cloud, project: str, zone: str, body: Row, prefix: str) -> None:
    nets = body.get("networkInterfaces", ())
    if not nets:
        text = f"Invalid value for field '{prefix}.networkInterfaces': ''. At least one network interface is required."
        raise Refusal(400, text, reason="invalid")
    for net in nets:
        if "network" in net or "subnetwork" not in net:
            network = full(project, net.get("network", "global/networks/default"), "networks", "global")
            if not exists(cloud, network):
                raise missing(network)
        subnet = full(project, net.get("subnetwork", "default"), "subnetworks", zone.rpartition("-")[0])
        if "subnetwork" in net and not exists(cloud, subnet):
            raise missing(subnet)


def _check_scheduling(how: Row, has_gpu: bool, body: Row, prefix: str) -> None:
    spot = how.get("provisioningModel") == "SPOT" or how.get("preemptible")
    flex = how.get("provisioningModel") == "FLEX_START"
    if spot and how.get("automaticRestart"):
        raise _invalid(prefix, "automaticRestart", "Spot VMs cannot be restarted automatically.")
    if has_gpu and not spot and how.get("onHostMaintenance") != "TERMINATE":
        text = "Instances with guest accelerators do not support live migration."
        raise _invalid(prefix, "onHostMaintenance", text)
    if flex and not (how.get("maxRunDuration") and how.get("instanceTerminationAction") == "DELETE"):
        raise _invalid(
            prefix, "provisioningModel", "FLEX_START needs maxRunDuration and instanceTerminationAction DELETE."
        )
    if flex and body.get("reservationAffinity", {}).get("consumeReservationType") != "NO_RESERVATION":
        raise _invalid(prefix, "provisioningModel", "FLEX_START needs reservationAffinity NO_RESERVATION.")
    if "maxRunDuration" in how and "instanceTerminationAction" not in how:
        raise _invalid(prefix, "maxRunDuration", "maxRunDuration needs an instanceTerminationAction.")


def _invalid(prefix: str, field: str, text: str) -> Refusal:
    return Refusal(400, f"Invalid value for field '{prefix}.scheduling.{field}': {text}", reason="invalid")


def lack_of(cloud: Cloud, name: str, body: Row) -> Row | None:
    """The error with which the operation of this VM will end, or None if it gets all that it needs."""
    project, zone = name.split("/")[1], name.split("/")[3]
    kind = body["machineType"].rpartition("/")[2]
    affinity = body.get("reservationAffinity", {})
    if affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION":
        return _lack_of_reservation(cloud, project, zone, affinity)
    if over := _over_quota(cloud, project, zone.rpartition("-")[0], kind, body):
        return over
    if cloud.faults.stock(zone, kind):
        return no_more(project, zone, kind)
    return None


def no_more(project: str, zone: str, kind: str) -> Row:
    """A stock-out, as Compute Engine says it."""
    text = (
        f"The zone 'projects/{project}/zones/{zone}' does not have enough resources available to fulfill the request."
    )
    detail = {"reason": "resource_availability", "domain": "compute.googleapis.com"}
    metadata = {"attachment": "", "vmType": kind, "zone": zone, "zonesAvailable": ""}
    return error(
        "ZONE_RESOURCE_POOL_EXHAUSTED",
        f"{text}  Try a different zone, or try again later.",
        errorDetails=[{"errorInfo": detail | {"metadatas": metadata}}],
    )


def _lack_of_reservation(cloud: Cloud, project: str, zone: str, affinity: Row) -> Row | None:
    wanted = affinity.get("values", [""])[0]
    name = wanted if wanted.startswith("projects/") else f"projects/{project}/zones/{zone}/reservations/{wanted}"
    name = name.replace(f"projects/{project}/reservations/", f"projects/{project}/zones/{zone}/reservations/")
    row = cloud.rows.get(name)
    if row is None:
        return error("RESOURCE_NOT_FOUND", f"The resource '{name}' was not found")
    users = [
        one
        for _, one in cloud.rows.within(f"projects/{project}/zones/{zone}/instances")
        if one.get("reservationAffinity", {}).get("values") == affinity["values"] and one["status"] in _HELD
    ]
    if len(users) >= int(row.get("specificReservation", {}).get("count", 0)):
        # The code is a belief; the text is what users report.
        return error(
            "INVALID_USAGE", f"Specified reservations [{wanted}] do not have available resources for the request."
        )
    return None


def _over_quota(cloud: Cloud, project: str, region: str, kind: str, body: Row) -> Row | None:
    spot = body.get("scheduling", {}).get("provisioningModel") == "SPOT"
    for metric, asked in _metered(kind, spot):
        most = cloud.faults.most(metric, region)
        if isinf(most):
            continue  # what is held need not be counted
        used = sum(dict(_metered(*_kind_of(row))).get(metric, 0) for row in _rows(cloud, project, region))
        if used + asked > most:
            text = f"Quota '{metric}' exceeded.  Limit: {most:.1f} in region {region}."
            about: Row = {
                "metricName": f"compute.googleapis.com/{metric.lower()}",
                "limitName": f"{metric}-per-project-region",
            }
            about |= {"limit": most, "dimensions": {"region": region}}
            return error("QUOTA_EXCEEDED", text, errorDetails=[{"quotaInfo": about}])
    return None


def _metered(kind: str, spot: bool) -> list[tuple[str, int]]:
    cpus, _, gpu, gpus = places.MACHINES[kind]
    before = "PREEMPTIBLE_" if spot else ""
    return [("CPUS", cpus)] + ([(before + places.METRICS[gpu], gpus)] if gpu else [])


def _kind_of(row: Row) -> tuple[str, bool]:
    spot = row["scheduling"].get("provisioningModel") == "SPOT"
    return row["machineType"].rpartition("/")[2], spot


def _rows(cloud: Cloud, project: str, region: str) -> list[dict[str, Any]]:
    found = cloud.rows.matching(rf"projects/{project}/zones/{region}-\w/instances")
    return [row for _, row in found if row["status"] in _HELD]
