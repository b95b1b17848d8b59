"""The runner of VMs: one bulk insertion for each attempt, which creates all of its machines or none.

What it remembers saves requests and delays some. It reports no machine that Google did not list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bastion.model.errors import NotReady, RunnerError
from bastion.model.interfaces import AttemptKey, Machine, MachineExistence, Placement
from bastion.model.job.instances import KINDS
from bastion.quota.resources import Resources

from ..api.interface import ResourceExists
from ..machines import names
from ..machines.existence import Existence
from ..machines.google_context import GoogleContext
from ..machines.names import GoogleHost
from ..machines.runner import GoogleRunner
from . import parse, render
from .deletion import VmDeletion
from .listing import GceListing, read
from .parse import Vm
from .pending_vms import PendingVms
from .placement_policies import PlacementPolicies
from .render import VmRequest


class GceRunner(GoogleRunner):
    """The runner of VMs in one of Google's projects."""

    name = "gce"
    offers = frozenset(KINDS["gpu"]) | {"cpu", "memory"}

    def __init__(self, context: GoogleContext) -> None:
        self._pending = PendingVms(context)
        super().__init__(context, self._pending, self._found)
        self._nearness = PlacementPolicies(context)
        self._removal = VmDeletion(context)
        self._listed = GceListing()

    def workers(self, resources: Resources, replicas: int) -> int:
        """Return the number of VMs of all replicas. Raises `RunnerError` if no VMs make up such a replica."""
        return render.wanted(resources, replicas, "").number

    def create(self, placement: Placement) -> None:
        """Ask for the attempt's VMs, unless they are asked for already: in the first zone that does not refuse."""
        key = placement.key
        if self._pending.runs(key):
            return
        wish = render.wanted(placement.resources, placement.replicas, self.context.settings.bought(placement.tier))
        if key in self._listed.alive:
            self._clear(self._listed.by_key[key], wish)
            return
        if not self.context.settings.zones:
            raise RunnerError("zones of [google] in config.toml is empty; add zones, as us-central1-a")
        busy = self._listed.zones_of(key)
        self._asking.in_turn(
            key, str(wish), self.context.settings.zones, busy, lambda zone: self._send(zone, placement, wish)
        )

    def delete(self, machine: str) -> None:
        """Delete the VM."""
        host = names.host_of(machine)
        if host and host.host == 0:  # a VM has only host 0
            self._removal.ask(host)

    def list(self) -> Sequence[Machine]:
        """List all machines of this bastion: two questions, and one more for each zone with insertions under way.

        Raises `RunnerError` if a part does not answer.
        """
        found = read(self.context)
        self._listed = found
        for key, creation, error in self._pending.ended():
            if error is None:
                self._asking.gave(creation.zone, creation.want)
            elif isinstance(error, ResourceExists):
                # An earlier insertion took the name, and is not listed yet.
                self._pending.unsure(key, creation.zone, str(error))
            else:
                self._asking.refuse(creation.zone, creation.want, error)
                self._pending.refused(key, str(error))
        self._pending.seen(found)
        self._removal.seen(found)
        self._nearness.tidy(found)
        return found.machines

    def sweep(self) -> None:
        """Do nothing: a machine is deleted with everything on it."""

    def clear(self) -> None:
        """Remove what is left once there are no machines, and none will come.

        Raises `RunnerError` if it cannot be listed.
        """
        self._nearness.clear(read(self.context))

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return what the attempts without running VMs wait for."""
        return self._pending.told(self._listed)

    def _send(self, zone: str, placement: Placement, wish: VmRequest) -> Mapping[str, Any]:
        """Ask one zone. Raises `GoogleError`, and `NotReady` while a gang's placement policy is being made."""
        mark, name = self.context.mark(placement), names.name(self.context.scope, placement.key)
        if wish.policy and not self._nearness.ready(zone, name, mark, self._listed):
            raise NotReady(f"{wish} in {zone}: their placement policy is created first")
        metadata = self.context.birth(placement.key, render.machine(zone, mark.nonce))
        body = render.body(self.context.settings, zone, name, mark, wish, metadata)
        return self.context.google.call(
            "compute.instances.bulkInsert", project=self.context.project, zone=zone, body=body
        )

    def _clear(self, vms: Sequence[Vm], wish: VmRequest) -> None:
        """Delete the rest of a gang that lost a VM before it began: it can never form, and has to be created anew.

        Its workers wait for each other while the attempt is being created, so nothing runs on them.
        """
        missing = parse.lost(vms, wish.number)
        sights = [self._witness.look(host) for host in missing]
        if MachineExistence.GONE in sights:
            for vm in vms:
                self._removal.ask(vm.host)
        elif MachineExistence.UNREACHABLE in sights:
            raise NotReady(
                f"{wish} in {vms[0].host.zone}: {missing[0].name} is missing; Bastion looks for it once more"
            )

    def _found(self, host: GoogleHost) -> Existence | None:
        """Return what has a host's name; None if nothing has. Raises `GoogleError`."""
        there = self._removal.get(host)
        if there is None:
            return None
        status, mark = str(there.get("status", "")), names.mark_of(there.get("labels", {}))
        leaving = status in ("STOPPING", "DEPROVISIONING")
        return Existence(mark=mark, hosts=1, dead=status in parse.DEAD, leaving=leaving)
