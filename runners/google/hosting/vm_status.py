"""The VM of a bastion at work: whether it runs, what it says on its console, started, stopped and deleted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...hosting import GONE
from ..api.interface import Google, NotThere
from ..api.operations import finish

_UP = {"PROVISIONING", "STAGING", "RUNNING"}
_FALLEN = {GONE, "TERMINATED", "STOPPING", "SUSPENDED"}


@dataclass(frozen=True, slots=True)
class VmStatus:
    """The VM of this name, as a `Lodging`. All calls raise `GoogleError`."""

    google: Google
    project: str
    zone: str
    name: str

    @property
    def where(self) -> str:
        """Its zone."""
        return self.zone

    def status(self) -> str:
        """What Compute Engine says of it (RUNNING, TERMINATED, …), or GONE."""
        try:
            return str(self.google.call("compute.instances.get", **self._at).get("status", ""))
        except NotThere:
            return GONE

    def fallen(self) -> bool:
        """It does not run, nor is about to."""
        return self.status() in _FALLEN

    def start(self) -> bool:
        """Start it. True if it did not run. Raises `NotThere` if there is none."""
        if self.google.call("compute.instances.get", **self._at).get("status") in _UP:
            return False
        self._do("compute.instances.start")
        return True

    def stop(self) -> bool:
        """Shut it down, and with it the bastion, which ends its tick first. True if it ran."""
        if self.status() not in _UP:
            return False
        self._do("compute.instances.stop")
        return True

    def delete(self) -> bool:
        """Remove it. True if it was there."""
        try:
            self._do("compute.instances.delete")
        except NotThere:
            return False
        return True

    def console(self) -> str:
        """The last that it wrote on its serial console."""
        return str(self.google.call("compute.instances.getSerialPortOutput", **self._at).get("contents", ""))

    @property
    def _at(self) -> dict[str, Any]:
        return {"project": self.project, "zone": self.zone, "instance": self.name}

    def _do(self, method: str) -> None:
        finish(self.google, "compute", self.google.call(method, **self._at), **self._at)
