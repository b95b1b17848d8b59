"""Slices that were asked for and are not there yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bastion.google.door import Google, GoogleError, NotThere
from bastion.google.failures import failure, of_status
from bastion.ports import AttemptKey
from runners.google import hopes
from runners.google.hopes import FORGET_S
from runners.tpu.listing import Listing
from runners.tpu.parse import WAITING

SETTING_UP_S = 1800.0
"""So long a slice may be set up before its workers are expected."""

_GET = "tpu.projects.locations.operations.get"


@dataclass(slots=True, kw_only=True)
class Hopes(hopes.Hopes):
    """Attempts without a listed queued resource."""

    google: Google
    project: str
    _set_up: dict[str, float] = field(default_factory=dict)

    def failure(self, key: AttemptKey) -> tuple[str, GoogleError] | None:
        """The zone and the error, if Google took a request and then failed with it. Raises `GoogleError`."""
        hope = self._of.get(key)
        if hope is None or not hope.operation:
            return None
        try:
            error = self.google.call(_GET, name=hope.operation).get("error")
        except NotThere:  # Google forgets them after a while
            return None
        if not error:
            return None
        self.drop(key)
        return hope.zone, failure(of_status(error), f"queued resource in {hope.zone}", project=self.project)

    def seen(self, found: Listing) -> None:
        """What is listed needs no hope; what is refused is told until something lives."""
        now = self.clock.monotonic()
        kept = [(key, hope, found.by_key if hope.zone else found.alive) for key, hope in self._of.items()]
        self._of = {key: hope for key, hope, over in kept if key not in over and now - hope.at < FORGET_S}
        up = [row.mark.nonce for row in found.queued if row.state == "PROVISIONING"]
        self._set_up = {nonce: self._set_up.get(nonce, now) for nonce in up}

    def told(self, found: Listing) -> Mapping[AttemptKey, str]:
        """What each attempt waits for."""
        now = self.clock.monotonic()
        said = {key: hope.said for key, hope in self._of.items()}
        for row in found.queued:
            if row.state in WAITING:
                said[row.mark.key] = f"{row.want} is queued in {row.zone}"
            elif now - self._set_up.get(row.mark.nonce, float("-inf")) < SETTING_UP_S:
                said[row.mark.key] = f"{row.want} is being set up in {row.zone}"
        return said
