"""Pending slices: asked for and not there yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bastion.model.interfaces import AttemptKey

from ..api.failures import failure, of_status
from ..api.interface import GoogleError, ResourceNotFound
from ..machines import pending_creations
from ..machines.pending_creations import FORGET_S
from .listing import TpuListing
from .parse import WAITING

_GET = "tpu.projects.locations.operations.get"


@dataclass(slots=True)
class PendingSlices(pending_creations.PendingCreations):
    """The attempts without a listed queued resource."""

    def failure(self, key: AttemptKey) -> tuple[str, GoogleError] | None:
        """Return the zone and the error of a request that Google accepted and that failed later; None otherwise.

        Raises `GoogleError`.
        """
        creation = self._of.get(key)
        if creation is None or not creation.operation:
            return None
        try:
            error = self.context.google.call(_GET, name=creation.operation).get("error")
        except ResourceNotFound:  # Google forgets operations after a while
            return None
        if not error:
            return None
        self.drop(key)
        return creation.zone, failure(
            of_status(error), f"queued resource in {creation.zone}", project=self.context.project
        )

    def seen(self, found: TpuListing) -> None:
        """Forget what is listed. Keep a refusal until the attempt has something alive."""
        now = self.context.clock.monotonic()
        kept = [(key, creation, found.by_key if creation.zone else found.alive) for key, creation in self._of.items()]
        self._of = {key: creation for key, creation, over in kept if key not in over and now - creation.at < FORGET_S}
        self._set_ups(row.mark.nonce for row in found.queued if row.state == "PROVISIONING")

    def told(self, found: TpuListing) -> Mapping[AttemptKey, str]:
        """Return what each attempt waits for, in words."""
        said = {key: creation.said for key, creation in self._of.items()}
        for row in found.queued:
            if row.state in WAITING:
                said[row.mark.key] = f"{row.want} is queued in {row.zone}"
            elif self._is_set_up(row.mark.nonce):
                said[row.mark.key] = f"{row.want} is being set up in {row.zone}"
        return said
