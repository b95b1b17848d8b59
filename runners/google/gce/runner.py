"""The runner of VMs: one bulk insertion for each attempt, which creates all of its machines or none.

What it remembers saves requests and delays some. It reports no machine that Google did not list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bastion.model.errors import Later, RunnerError
from bastion.model.interfaces import AttemptKey, Machine, Placement, Sight
from bastion.model.job.instances import KINDS
from bastion.quota.resources import Resources

from ..api.interface import IsThere
from ..machines import names
from ..machines.existence import Existence
from ..machines.google_context import GoogleContext
from ..machines.names import GoogleHost
from ..machines.runner import GoogleRunner
from . import parse, render
from .deletion import Removal
from .listing import Listing, read
from .parse import Vm
from .pending_vms import PendingVms
from .placement_policies import PlacementPolicies
from .render import VmRequest


class GceRunner(GoogleRunner):
    """The runner of VMs in one of Google's projects."""

    name = "gce"
    offers = frozenset(KINDS["gpu"]) | {"cpu", "memory"}

    def __init__(self, site: GoogleContext) -> None:
        self._hopes = PendingVms(site)
        super().__init__(site, self._hopes, self._found)
        self._nearness = PlacementPolicies(site)
        self._removal = Removal(site)
        self._listed = Listing()

    def workers(self, resources: Resources, replicas: int) -> int:
        """Return the number of VMs of all replicas. Raises `RunnerError` if no VMs make up such a replica."""
        return render.wanted(resources, replicas, "").number

    def create(self, placement: Placement) -> None:
        """Ask for the attempt's VMs, unless they are asked for already: in the first zone that does not refuse."""
        key = placement.key
        if self._hopes.runs(key):
            return
        wish = render.wanted(placement.resources, placement.replicas, self.site.settings.bought(placement.tier))
        if key in self._listed.alive:
            self._clear(self._listed.by_key[key], wish)
            return
        if not self.site.settings.zones:
            raise RunnerError("zones of [google] in config.toml is empty; add zones, as us-central1-a")
        busy = self._listed.zones_of(key)
        self._asking.in_turn(
            key, str(wish), self.site.settings.zones, busy, lambda zone: self._send(zone, placement, wish)
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
        found = read(self.site)
        self._listed = found
        for key, hope, error in self._hopes.ended():
            if error is None:
                self._asking.gave(hope.zone, hope.want)
            elif isinstance(error, IsThere):
                # An earlier insertion took the name, and is not listed yet.
                self._hopes.unsure(key, hope.zone, str(error))
            else:
                self._asking.refuse(hope.zone, hope.want, error)
                self._hopes.refused(key, str(error))
        self._hopes.seen(found)
        self._removal.seen(found)
        self._nearness.tidy(found)
        return found.machines

    def sweep(self) -> None:
        """Do nothing: a machine is deleted with everything on it."""

    def clear(self) -> None:
        """Remove what is left once there are no machines, and none will come.

        Raises `RunnerError` if it cannot be listed.
        """
        self._nearness.clear(read(self.site))

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return what the attempts without running VMs wait for."""
        return self._hopes.told(self._listed)

    def _send(self, zone: str, placement: Placement, wish: VmRequest) -> Mapping[str, Any]:
        """Ask one zone. Raises `GoogleError`, and `Later` while a gang's placement policy is being made."""
        mark, name = self.site.mark(placement), names.name(self.site.scope, placement.key)
        if wish.near and not self._nearness.ready(zone, name, mark, self._listed):
            raise Later(f"{wish} in {zone}: their placement policy is created first")
        metadata = self.site.birth(placement.key, render.machine(zone, mark.nonce))
        body = render.body(self.site.settings, zone, name, mark, wish, metadata)
        return self.site.google.call("compute.instances.bulkInsert", project=self.site.project, zone=zone, body=body)

    def _clear(self, vms: Sequence[Vm], wish: VmRequest) -> None:
        """Delete the rest of a gang that lost a VM before it began: it can never form, and has to be created anew.

        Its workers wait for each other while the attempt is being created, so nothing runs on them.
        """
        missing = parse.lost(vms, wish.number)
        sights = [self._witness.look(host) for host in missing]
        if Sight.GONE in sights:
            for vm in vms:
                self._removal.ask(vm.host)
        elif Sight.BLIND in sights:
            raise Later(f"{wish} in {vms[0].host.zone}: {missing[0].name} is missing; Bastion looks for it once more")

    def _found(self, host: GoogleHost) -> Existence | None:
        """Return what has a host's name; None if nothing has. Raises `GoogleError`."""
        there = self._removal.get(host)
        if there is None:
            return None
        status, mark = str(there.get("status", "")), names.mark_of(there.get("labels", {}))
        leaving = status in ("STOPPING", "DEPROVISIONING")
        return Existence(mark=mark, hosts=1, dead=status in parse.DEAD, leaving=leaving)
