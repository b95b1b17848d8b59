"""What listings of VMs and placements show, as values. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bastion.model.errors import RunnerError
from bastion.model.interfaces import Machine

from ..machines.names import GoogleHost, Mark, mark_of

COMING = frozenset({"PENDING", "PROVISIONING", "STAGING"})
DEAD = frozenset({"DEPROVISIONING", "REPAIRING", "STOPPED", "STOPPING", "SUSPENDED", "SUSPENDING", "TERMINATED"})
"""States of a VM that runs nothing any more. Some of them hold quota until it is deleted."""

_NUMBERED = re.compile(r".*-([0-9]{1,5})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vm:
    """One VM of ours, as it is listed."""

    host: GoogleHost
    mark: Mark
    worker: int
    status: str
    machine_type: str

    @property
    def machine(self) -> Machine:
        """The machine that it is, if it is one of ours."""
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
class Near:
    """A placement of ours, as it is listed."""

    region: str
    name: str
    mark: Mark
    ready: bool


def items_of(parts: Iterable[tuple[str, Mapping[str, Any]]], kind: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Place and row of all that an aggregated listing shows. Raises `RunnerError` if a place did not answer."""
    for scope, part in parts:
        code = part.get("warning", {}).get("code", "NO_RESULTS_ON_PAGE")
        if code == "UNREACHABLE":
            raise RunnerError(f"{scope} did not answer what {kind} it has; it is asked again")
        place = scope.rpartition("/")[2]
        for row in part.get(kind, ()):
            yield place, row


def vm_of(row: Mapping[str, Any], zone: str, scope: str) -> Vm | None:
    """A listed VM; None if it is none of this bastion's machines."""
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


def near_of(row: Mapping[str, Any], region: str, scope: str) -> Near | None:
    """A listed placement; None if it is none of this bastion's."""
    try:
        mark = mark_of(json.loads(row.get("description", "")))
    except (ValueError, AttributeError, TypeError):
        return None
    if mark is None or mark.scope != scope:
        return None
    return Near(region=region, name=str(row.get("name", "")), mark=mark, ready=row.get("status", "READY") == "READY")


def lost(vms: Sequence[Vm], number: int) -> list[GoogleHost]:
    """The VMs that one creation of a gang lacks, all others of which are up; none if it is whole, or being made.

    `vms` are those that are listed of an attempt. A listing may lag: what lacks there has to be asked for itself.
    """
    if len({vm.mark.nonce for vm in vms}) != 1 or not all(vm.machine.seen for vm in vms):
        return []
    there, stem = {vm.worker for vm in vms}, vms[0].host.name.rpartition("-")[0]
    return [replace(vms[0].host, name=f"{stem}-{worker}") for worker in range(number) if worker not in there]
