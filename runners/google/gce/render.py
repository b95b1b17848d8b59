"""The body of a bulk insertion, made from an attempt's placement, and the body of a placement policy. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bastion.model.errors import RunnerError, SpecError
from bastion.model.job.instances import VmType, vms_of
from bastion.model.settings.tables import GoogleSettings
from bastion.quota.resources import Resources

from ...delivery.bootstrap import ANY_NAME
from ..api.interface import SCOPE
from ..machines.names import GoogleLabels, labels

FLEX_S = 7 * 24 * 3600
"""The seconds that a flex-start machine may live: the most that Google allows."""

_NEAR = ("a2-", "a3-", "a4-", "a4x-")
"""The machine families whose gangs are placed near each other."""

_HYPERDISK = ("a3-ultragpu-", "a4-", "a4x-")
"""The machine families that boot from hyperdisks only."""

_IMAGES = {
    "gpu": "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2204-amd64-with-nvidia-570",
    "arm": "projects/ubuntu-os-accelerator-images/global/images/family/ubuntu-accelerator-2404-arm64-with-nvidia-570",
    "cpu": "projects/ubuntu-os-cloud/global/images/family/ubuntu-2204-lts",
}
"""The images that machines boot unless the settings name others. Those for GPUs contain the driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VmRequest:
    """A number of VMs of one type, all or none.

    vm: the type.
    number: how many VMs.
    how: how they are bought, one of the ways in `tiers`.
    """

    vm: VmType
    number: int
    how: str

    def __str__(self) -> str:
        """Describe the request in words: `2 a3-highgpu-8g (spot)`."""
        return f"{self.number} {self.vm.machine_type} ({self.how})"

    @property
    def kind(self) -> str:
        """The key of its image and its reservation in the settings."""
        return self.vm.kind or "cpu"

    @property
    def policy(self) -> bool:
        """True if the VMs are to be placed near each other.

        Not for a reservation, which has its place, nor for flex-start, which finds its own.
        """
        return self.number > 1 and self.vm.machine_type.startswith(_NEAR) and self.how in ("on-demand", "spot")


def wanted(resources: Resources, replicas: int, how: str) -> VmRequest:
    """Return the VMs of an attempt. Raises `RunnerError` if no VMs make up such a replica."""
    try:
        vm, hosts = vms_of(resources)
    except SpecError as error:
        raise RunnerError(str(error)) from error
    return VmRequest(vm=vm, number=hosts * replicas, how=how)


def machine(zone: str, nonce: str) -> str:
    """Return the id of each machine without its number, for the machines' metadata."""
    return f"{zone}/{ANY_NAME}/{nonce}"


def body(
    google: GoogleSettings, zone: str, name: str, mark: GoogleLabels, wish: VmRequest, metadata: Mapping[str, str]
) -> dict[str, Any]:
    """Return the body of the insertion: all VMs of an attempt, together or not at all.

    The VM of worker N has the name `NAME-N`.
    """
    return {
        "count": str(wish.number),
        "minCount": str(wish.number),
        "perInstanceProperties": {f"{name}-{worker}": {} for worker in range(wish.number)},
        "instanceProperties": {
            "machineType": wish.vm.machine_type,
            "labels": labels(mark),
            "metadata": {"items": [{"key": key, "value": value} for key, value in metadata.items()]},
            "disks": [_disk(google, wish)],
            "networkInterfaces": [_network(google, zone)],
            "serviceAccounts": [{"email": google.service_account or "default", "scopes": [SCOPE]}],
            "scheduling": _scheduling(wish.how),
            "reservationAffinity": _reservation(google, wish),
            **({"resourcePolicies": [name]} if wish.policy else {}),
        },
    }


def placement(name: str, mark: GoogleLabels) -> dict[str, Any]:
    """Return the policy that places a gang's machines near each other.

    It has no labels: its description holds the mark.
    """
    return {
        "name": name,
        "description": json.dumps(labels(mark), sort_keys=True),
        "groupPlacementPolicy": {"collocation": "COLLOCATED"},
    }


def _disk(google: GoogleSettings, wish: VmRequest) -> dict[str, Any]:
    fast = wish.vm.machine_type.startswith(_HYPERDISK)
    usual = "cpu" if not wish.vm.kind else "arm" if wish.vm.machine_type.startswith("a4x-") else "gpu"
    image = google.images.get(wish.kind, _IMAGES[usual])
    params = {
        "sourceImage": image if "/" in image and not image.startswith("family/") else f"global/images/{image}",
        "diskSizeGb": str(google.disk_gb),
        "diskType": "hyperdisk-balanced" if fast else "pd-balanced",
    }
    return {"boot": True, "autoDelete": True, "initializeParams": params}


def _network(google: GoogleSettings, zone: str) -> dict[str, Any]:
    """Return the one network interface. It has no address that the internet can reach."""
    network, subnet = google.network, google.subnetwork
    if subnet and "/" not in subnet:
        subnet = f"regions/{region(zone)}/subnetworks/{subnet}"
    if not network and not subnet:
        network = "default"
    if network and "/" not in network:
        network = f"global/networks/{network}"
    return {key: value for key, value in (("network", network), ("subnetwork", subnet)) if value}


def _scheduling(how: str) -> dict[str, Any]:
    plain: dict[str, Any] = {"onHostMaintenance": "TERMINATE", "automaticRestart": False}
    if how == "spot":
        return {**plain, "provisioningModel": "SPOT", "instanceTerminationAction": "DELETE"}
    if how == "flex-start":
        flex = {"provisioningModel": "FLEX_START", "instanceTerminationAction": "DELETE"}
        return {**plain, **flex, "maxRunDuration": {"seconds": str(FLEX_S)}}
    return {**plain, "provisioningModel": "STANDARD"}


def _reservation(google: GoogleSettings, wish: VmRequest) -> dict[str, Any]:
    """Return the reservation to use: the named one, or any that fits. Only `reserved` VMs use a reservation."""
    if wish.how != "reserved":
        return {"consumeReservationType": "NO_RESERVATION"}
    if name := google.reservations.get(wish.kind, ""):
        key = "compute.googleapis.com/reservation-name"
        return {"consumeReservationType": "SPECIFIC_RESERVATION", "key": key, "values": [name]}
    return {"consumeReservationType": "ANY_RESERVATION"}


def region(zone: str) -> str:
    """Return the region of a zone."""
    return zone.rpartition("-")[0]
