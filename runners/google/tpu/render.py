"""The body of a queued resource, made from an attempt's placement. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bastion.model.errors import RunnerError, SpecError
from bastion.model.job.instances import SLICES, Slice, slice_of
from bastion.model.settings.tables import GoogleSettings
from bastion.quota.resources import Resources

from ...delivery.bootstrap import ANY_NAME
from ..api.interface import SCOPE
from ..machines.names import GoogleLabels, labels

ALONE_S, IN_TURN_S = 24 * 3600, 1800
"""The seconds that a request waits in a zone: where it is the only zone, and where there are others to ask."""


def wanted(resources: Resources) -> Slice:
    """Return the slice that one replica is.

    Raises `RunnerError` for no such kind or size, or if it cannot be TPU VMs.
    """
    kinds = sorted(resources)
    if len(kinds) != 1 or kinds[0] not in SLICES:
        raise RunnerError(
            f"a TPU slice has one kind of {', '.join(SLICES)}, but this job asks for {', '.join(kinds) or 'nothing'}"
        )
    try:
        found = slice_of(kinds[0], resources[kinds[0]])
    except SpecError as error:
        raise RunnerError(str(error)) from error
    if not found.runtime:
        raise RunnerError(f"Google gives {found.instance_type} to Kubernetes clusters only, not as TPU VMs")
    return found


def machine(zone: str, name: str, slices: int, nonce: str) -> str:
    """Return the id of each host without its number, for the machines' metadata."""
    return f"{zone}/{name if slices == 1 else ANY_NAME}/{nonce}"


def body(
    google: GoogleSettings,
    zone: str,
    name: str,
    mark: GoogleLabels,
    one: Slice,
    slices: int,
    tier: int,
    metadata: Mapping[str, str],
) -> dict[str, Any]:
    """Return the body of the queued resource: all slices of an attempt, together or not at all.

    Raises `RunnerError` if the tier is bought by flex-start, which TPU VMs do not have.
    """
    parent = f"projects/{google.project}/locations/{zone}"
    how = google.bought(tier)
    if how == "flex-start":
        raise RunnerError("TPU VMs have no flex-start; use reserved, on-demand or spot in tiers of [google]")
    several = {"multisliceParams": {"nodeCount": slices, "nodeIdPrefix": name}} if slices > 1 else {"nodeId": name}
    node = _node(google, mark, one, metadata, reserved=how == "reserved")
    wait = ALONE_S if len(google.zones) == 1 else IN_TURN_S
    return {
        "tpu": {"nodeSpec": [{"parent": parent, **several, "node": node}]},
        "queueingPolicy": {"validUntilDuration": f"{wait}s"},
        **_tier(google, zone, one, how),
    }


def _node(
    google: GoogleSettings, mark: GoogleLabels, one: Slice, metadata: Mapping[str, str], *, reserved: bool
) -> dict[str, Any]:
    network = {"network": google.network, "subnetwork": google.subnetwork}
    account = {"email": google.service_account} if google.service_account else {}
    how = {"schedulingConfig": {"reserved": True}} if reserved else {}
    return {
        **how,
        "acceleratorType": one.name,
        "runtimeVersion": google.images.get(one.kind, one.runtime),
        "networkConfig": {**{key: value for key, value in network.items() if value}, "enableExternalIps": False},
        "serviceAccount": {**account, "scope": [SCOPE]},
        "labels": labels(mark),
        "metadata": dict(metadata),
    }


def _tier(google: GoogleSettings, zone: str, one: Slice, how: str) -> dict[str, Any]:
    if how == "spot":
        return {"spot": {}}
    name = google.reservations.get(one.kind, "") if how == "reserved" else ""
    if how == "reserved" and name:
        full = name if "/" in name else f"projects/{google.project}/locations/{zone}/reservations/{name}"
        return {"guaranteed": {}, "reservationName": full}
    return {"guaranteed": {}} if how == "reserved" else {}
