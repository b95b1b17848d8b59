"""The placement policies of gangs: made before their VMs, removed after them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from bastion.model.interfaces import AttemptKey

from ..api.interface import GoogleError, ResourceExists, ResourceNotFound
from ..machines.google_context import GoogleContext
from ..machines.names import GoogleLabels
from . import render
from .listing import GceListing
from .parse import PlacementPolicy

IDLE_S = 120.0
"""The seconds without use after which a policy is removed.

If it is still there, the removal is repeated after as long.
"""


@dataclass(slots=True)
class PlacementPolicies:
    """The placement policies (resource policies of Compute Engine), one for each gang and region.

    context: the context of Google's machines.
    """

    context: GoogleContext
    _used: dict[tuple[str, str], float] = field(default_factory=dict)

    def ready(self, zone: str, name: str, mark: GoogleLabels, found: GceListing) -> bool:
        """True if the placement policy of this name is ready. If there is none, ask for it. Raises `GoogleError`."""
        place = render.region(zone), name
        self._used[place] = self.context.clock.monotonic()
        there = [policy for policy in found.policies if (policy.region, policy.name) == place]
        if not there:
            with suppress(ResourceExists):
                body = render.placement(name, mark)
                self.context.google.call(
                    "compute.resourcePolicies.insert", project=self.context.project, region=place[0], body=body
                )
        return any(policy.ready for policy in there)

    def tidy(self, found: GceListing) -> None:
        """Remove the policies that no machine has used for a while. A removal that fails is tried again later."""
        now = self.context.clock.monotonic()
        used: set[tuple[str, AttemptKey]] = {(render.region(vm.host.zone), vm.mark.key) for vm in found.vms}
        idle: list[PlacementPolicy] = []
        listed = {}
        for policy in found.policies:
            place = policy.region, policy.name
            since = listed[place] = now if (policy.region, policy.mark.key) in used else self._used.get(place, now)
            if now - since >= IDLE_S:
                idle.append(policy)
                listed[place] = now  # a removal that fails is repeated after another `IDLE_S`
        fresh = {place: at for place, at in self._used.items() if place not in listed and now - at < IDLE_S}
        self._used = {**fresh, **listed}
        self.context.at_once(self._remove, idle)

    def clear(self, found: GceListing) -> None:
        """Remove all policies. Raises `GoogleError` if one cannot be removed."""
        self.context.of_all(self._delete, found.policies)

    def _remove(self, policy: PlacementPolicy) -> None:
        with suppress(GoogleError):
            self._delete(policy)

    def _delete(self, policy: PlacementPolicy) -> None:
        with suppress(ResourceNotFound):
            self.context.google.call(
                "compute.resourcePolicies.delete",
                project=self.context.project,
                region=policy.region,
                resourcePolicy=policy.name,
            )
