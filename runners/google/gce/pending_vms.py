"""Pending VMs: asked for and not there yet, and the results of the insertions that create them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bastion.model.interfaces import AttemptKey

from ..api.failures import failure, of_compute
from ..api.interface import GoogleError
from ..machines import pending_creations
from ..machines.pending_creations import FORGET_S, PendingCreation
from .listing import GceListing

_PAGE = 500


@dataclass(slots=True)
class PendingVms(pending_creations.PendingCreations):
    """The attempts whose insertion has not ended, or whose VMs are not listed."""

    def runs(self, key: AttemptKey) -> bool:
        """True while the insertion of this attempt's VMs has not ended."""
        creation = self._of.get(key)
        return creation is not None and bool(creation.operation)

    def ended(self) -> Iterator[tuple[AttemptKey, PendingCreation, GoogleError | None]]:
        """Yield the insertions that have ended since the last call, each with its error, or None. Raises `GoogleError`.

        It asks one question for each zone with an insertion under way.
        """
        asked = [(key, creation) for key, creation in self._of.items() if creation.operation]
        for zone in sorted({creation.zone for _, creation in asked}):
            of_zone = {creation.operation: key for key, creation in asked if creation.zone == zone}
            for row in self._operations(zone, set(of_zone)):
                if row.get("status") != "DONE":
                    continue
                key = of_zone[row["name"]]
                creation = self._of[key]
                self._of[key] = replace(creation, operation="")
                error = row.get("error")
                about = f"{creation.want} in {zone}"
                yield key, creation, failure(of_compute(error), about, project=self.context.project) if error else None

    def _operations(self, zone: str, names: set[str]) -> Iterator[Mapping[str, Any]]:
        """Yield these operations, from one listing that is read only until all of them were found."""
        rows = self.context.google.pages(
            "compute.zoneOperations.list", "items", project=self.context.project, zone=zone, maxResults=_PAGE,
            filter="operationType=bulkInsert", orderBy="creationTimestamp desc",
        )  # fmt: skip
        left = set(names)
        for row in rows:
            if row.get("name") in left:
                left.discard(row["name"])
                yield row
            if not left:
                return

    def seen(self, found: GceListing) -> None:
        """Forget the pending creations that have ended and whose VMs are listed, and those that are too old."""
        now = self.context.clock.monotonic()
        self._of = {
            key: creation
            for key, creation in self._of.items()
            if (creation.operation or key not in found.by_key) and now - creation.at < FORGET_S
        }
        self._set_ups(vm.mark.nonce for vm in found.vms if not vm.machine.seen and not vm.machine.doomed)

    def told(self, found: GceListing) -> Mapping[AttemptKey, str]:
        """Return what each attempt waits for, in words."""
        said = {key: creation.said for key, creation in self._of.items() if key not in found.by_key}
        for key, vms in found.by_key.items():
            if any(self._is_set_up(vm.mark.nonce) for vm in vms):
                said[key] = f"{len(vms)} {vms[0].machine_type} are being set up in {vms[0].host.zone}"
        return said
