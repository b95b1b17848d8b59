"""Parse listings of VMs and placement policies into values. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Machine

from ..machines.names import GoogleHost, GoogleLabels, mark_of

COMING = frozenset({"PENDING", "PROVISIONING", "STAGING"})
"""The statuses of a VM that does not run yet."""
DEAD = frozenset({"DEPROVISIONING", "REPAIRING", "STOPPED", "STOPPING", "SUSPENDED", "SUSPENDING", "TERMINATED"})
"""The statuses of a VM on which nothing runs any more. Some of them hold quota until it is deleted."""

_NUMBERED = re.compile(r".*-([0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vm:
    """One VM of ours, as the listing shows it.

    host: its zone and name, and the nonce of its creation.
    mark: the mark in its labels.
    worker: the number of its worker, which ends its name.
    status: its status, in Compute Engine's words.
    machine_type: its machine type, without a path.
    """

    host: GoogleHost
    mark: GoogleLabels
    worker: int
    status: str
    machine_type: str

    @property
    def machine(self) -> Machine:
        """The machine that the VM is, if it is one of ours."""
        dead = self.status in DEAD
        return Machine(
            id=str(self.host),
            key=self.mark.key,
            worker=self.worker,
            epoch=self.mark.epoch,
            seen=not dead and self.status not in COMING,
            doomed=dead,
            origin=f"VM {self.host.name} in {self.host.zone}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPolicy:
    """One placement policy of ours, as the listing shows it.

    region: its region.
    name: its name.
    mark: the mark in its description.
    ready: VMs can use it.
    """

    region: str
    name: str
    mark: GoogleLabels
    ready: bool


def items_of(parts: Iterable[tuple[str, Mapping[str, Any]]], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the row of each item in an aggregated listing.

    Raises `RunnerError` if a place did not answer.
    """
    for scope, part in parts:
        code = part.get("warning", {}).get("code", "NO_RESULTS_ON_PAGE")
        if code == "UNREACHABLE":
            raise RunnerError(f"{scope} did not list its {kind}; the next listing asks again")
        place = scope.rpartition("/")[2]
        for row in part.get(kind, ()):
            yield place, row


def vm_of(row: Mapping[str, Any], zone: str, scope: str) -> Vm | None:
    """Parse a listed VM; None if it is none of this bastion's machines."""
    mark, name = mark_of(row.get("labels", {})), str(row.get("name", ""))
    number = _NUMBERED.fullmatch(name)
    if mark is None or mark.scope != scope or number is None:
        return None
    return Vm(
        host=GoogleHost(zone=zone, name=name, nonce=mark.nonce, host=0),
        mark=mark,
        worker=int(number[1]),
        status=str(row.get("status", "")),
        machine_type=str(row.get("machineType", "")).rpartition("/")[2],
    )


def policy_of(row: Mapping[str, Any], region: str, scope: str) -> PlacementPolicy | None:
    """Parse a listed placement policy; None if it is none of this bastion's."""
    try:
        mark = mark_of(json.loads(row.get("description", "")))
    except (ValueError, AttributeError, TypeError):
        return None
    if mark is None or mark.scope != scope:
        return None
    return PlacementPolicy(
        region=region, name=str(row.get("name", "")), mark=mark, ready=row.get("status", "READY") == "READY"
    )


def lost(vms: Sequence[Vm], number: int) -> list[GoogleHost]:
    """Return the VMs that are missing from one creation of a gang, while all its other VMs are up.

    Empty if the gang is whole, is still being made, or has VMs of several creations. `vms` are the listed VMs of one
    attempt, `number` is how many the gang has. A listing may lag, so each missing VM has to be checked directly.
    """
    if len({vm.mark.nonce for vm in vms}) != 1 or not all(vm.machine.seen for vm in vms):
        return []
    there, stem = {vm.worker for vm in vms}, vms[0].host.name.rpartition("-")[0]
    return [replace(vms[0].host, name=f"{stem}-{worker}") for worker in range(number) if worker not in there]
