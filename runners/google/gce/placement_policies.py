"""The placement policies of gangs: made before their VMs, removed after them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

from bastion.model.interfaces import AttemptKey

from ..api.interface import GoogleError, IsThere, NotThere
from ..machines.google_context import GoogleContext
from ..machines.names import Mark
from . import render
from .listing import Listing
from .parse import Near

IDLE_S = 120.0
"""The seconds without use after which a policy is removed.

If it is still there, the removal is repeated after as long.
"""


@dataclass(slots=True)
class PlacementPolicies:
    """The placement policies (resource policies of Compute Engine), one for each gang and region.

    site: the context of Google's machines.
    """

    site: GoogleContext
    _used: dict[tuple[str, str], float] = field(default_factory=dict)

    def ready(self, zone: str, name: str, mark: Mark, found: Listing) -> bool:
        """True if the placement policy of this name is ready. If there is none, ask for it. Raises `GoogleError`."""
        place = render.region(zone), name
        self._used[place] = self.site.clock.monotonic()
        there = [near for near in found.nears if (near.region, near.name) == place]
        if not there:
            with suppress(IsThere):
                body = render.placement(name, mark)
                self.site.google.call(
                    "compute.resourcePolicies.insert", project=self.site.project, region=place[0], body=body
                )
        return any(near.ready for near in there)

    def tidy(self, found: Listing) -> None:
        """Remove the policies that no machine has used for a while. A removal that fails is tried again later."""
        now = self.site.clock.monotonic()
        used: set[tuple[str, AttemptKey]] = {(render.region(vm.host.zone), vm.mark.key) for vm in found.vms}
        idle: list[Near] = []
        listed = {}
        for near in found.nears:
            place = near.region, near.name
            since = listed[place] = now if (near.region, near.mark.key) in used else self._used.get(place, now)
            if now - since >= IDLE_S:
                idle.append(near)
                listed[place] = now  # a removal that fails is repeated after another `IDLE_S`
        fresh = {place: at for place, at in self._used.items() if place not in listed and now - at < IDLE_S}
        self._used = {**fresh, **listed}
        self.site.at_once(self._remove, idle)

    def clear(self, found: Listing) -> None:
        """Remove all policies. Raises `GoogleError` if one cannot be removed."""
        self.site.of_all(self._delete, found.nears)

    def _remove(self, near: Near) -> None:
        with suppress(GoogleError):
            self._delete(near)

    def _delete(self, near: Near) -> None:
        with suppress(NotThere):
            self.site.google.call(
                "compute.resourcePolicies.delete",
                project=self.site.project,
                region=near.region,
                resourcePolicy=near.name,
            )
