"""The runner of TPU slices: one queued resource for each attempt, with all its slices.

What it remembers saves requests and delays some. It reports no machine that Google did not list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bastion.model.errors import RunnerError
from bastion.model.interfaces import AttemptKey, Machine, Placement
from bastion.model.job.instances import KINDS, Slice
from bastion.quota.resources import Resources

from ..api.interface import ResourceNotFound
from ..machines import names
from ..machines.existence import Existence
from ..machines.google_context import GoogleContext
from ..machines.names import GoogleHost
from ..machines.runner import GoogleRunner
from . import parse, render
from .deletion import SliceDeletion
from .listing import TpuListing, read
from .pending_slices import PendingSlices

_T = "tpu.projects.locations."


class TpuRunner(GoogleRunner):
    """The runner of TPU slices in one of Google's projects."""

    name = "tpu"
    offers = frozenset(KINDS["tpu"])

    def __init__(self, context: GoogleContext) -> None:
        self._pending = PendingSlices(context)
        super().__init__(context, self._pending, self._found)
        self._removal = SliceDeletion(context)
        self._listed = TpuListing()
        self._heard: set[str] = set()
        self._places: Sequence[str] = ()

    def workers(self, resources: Resources, replicas: int) -> int:
        """Return the number of hosts of all slices. Raises `RunnerError` if the resources are no slice."""
        return render.wanted(resources).hosts * replicas

    def create(self, placement: Placement) -> None:
        """Ask for the attempt's slices, unless they are asked for already: in the first zone that does not refuse."""
        if placement.key in self._listed.alive:
            return
        one = render.wanted(placement.resources)
        want = parse.want(one.name, placement.replicas, self.context.settings.bought(placement.tier))
        self._take_in_failure(placement.key, want)
        busy = self._listed.zones_of(placement.key)
        self._asking.in_turn(placement.key, want, self._zones(), busy, lambda zone: self._send(zone, placement, one))

    def delete(self, machine: str) -> None:
        """Delete the machine together with all others of its attempt, once this was requested for each of them."""
        if host := names.host_of(machine):
            self._removal.ask(host, self._listed)

    def list(self) -> Sequence[Machine]:
        """List all machines of this bastion: two questions for each zone.

        Raises `RunnerError` if one does not answer.
        """
        found = read(self.context, self._zones())
        self._listed = found = found.since(self._listed, self.context.clock.monotonic())
        self._note_failures(found)
        self._pending.seen(found)
        self._removal.seen(found)
        return found.machines

    def sweep(self) -> None:
        """Repeat the deletions that hang: after their machines are gone, nothing else repeats them.

        There is nothing else to remove: a machine is deleted with everything on it.
        """
        for row in self._listed.queued:
            if row.state == "DELETING":
                self._removal.again(row)

    def clear(self) -> None:
        """Do nothing: deleted slices leave nothing behind."""

    def waiting(self) -> Mapping[AttemptKey, str]:
        """Return what the attempts without slices wait for."""
        return self._pending.told(self._listed)

    def _zones(self) -> Sequence[str]:
        """Return the zones of the settings that have TPUs. Raises `RunnerError` if none has."""
        if not self._places:
            every = self.context.google.pages(f"{_T}list", "locations", name=f"projects/{self.context.project}")
            known = {str(row.get("locationId", "")) for row in every}
            self._places = [zone for zone in self.context.settings.zones if zone in known]
        if not self._places:
            named = ", ".join(self.context.settings.zones) or "nothing"
            raise RunnerError(
                f"zones of [google] in config.toml names {named}, but no zone with TPUs; add one, as us-central2-b"
            )
        return self._places

    def _send(self, zone: str, placement: Placement, one: Slice) -> Mapping[str, Any]:
        """Ask one zone. Raises `GoogleError`."""
        mark, name = self.context.mark(placement), names.name(self.context.scope, placement.key)
        machine = render.machine(zone, name, placement.replicas, mark.nonce)
        metadata = self.context.birth(placement.key, machine)
        body = render.body(self.context.settings, zone, name, mark, one, placement.replicas, placement.tier, metadata)
        parent = f"projects/{self.context.project}/locations/{zone}"
        return self.context.google.call(f"{_T}queuedResources.create", parent=parent, queuedResourceId=name, body=body)

    def _found(self, host: GoogleHost) -> Existence | None:
        """Return what has a host's name; None if nothing has. Raises `GoogleError`."""
        name = f"projects/{self.context.project}/locations/{host.zone}/nodes/{host.name}"
        try:
            node = self.context.google.call(f"{_T}nodes.get", name=name)
        except ResourceNotFound:
            return None
        state = node.get("state")
        mark = names.mark_of(node.get("labels", {}))
        return Existence(mark=mark, hosts=parse.hosts(node), dead=state in parse.DEAD, leaving=state == "DELETING")

    def _take_in_failure(self, key: AttemptKey, want: str) -> None:
        """Remember why a creation failed that was accepted and never appeared: its operation may have the reason."""
        if failed := self._pending.failure(key):
            zone, error = failed
            self._asking.refuse(zone, want, error)

    def _note_failures(self, found: TpuListing) -> None:
        """Remember the zones that gave up, and the zones that gave slices."""
        for row, error in found.failures(self.context.project):
            if row.mark.nonce not in self._heard:
                self._heard.add(row.mark.nonce)
                self._asking.refuse(row.zone, row.want, error)
                if self._pending.zone(row.mark.key) in ("", row.zone):
                    self._pending.refused(row.mark.key, str(error))
        for row in found.queued:
            if row.state == "ACTIVE":
                self._asking.gave(row.zone, row.want)
        self._heard &= {row.mark.nonce for row in found.queued}
