"""Gangs that lost a VM before all of them had claimed. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..machines.names import Host
from .parse import Vm


def lost(vms: Sequence[Vm], number: int) -> list[Host]:
    """The VMs that one creation of a gang lacks, all others of which are up; none if it is whole, or being made.

    `vms` are those that are listed of an attempt. A listing may lag: what lacks there has to be asked for itself.
    """
    if len({vm.mark.nonce for vm in vms}) != 1 or not all(vm.machine.seen for vm in vms):
        return []
    there, stem = {vm.worker for vm in vms}, vms[0].host.name.rpartition("-")[0]
    return [replace(vms[0].host, name=f"{stem}-{worker}") for worker in range(number) if worker not in there]
