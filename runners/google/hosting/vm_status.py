"""The VM of a running bastion: its status and console, and how to start, stop and delete it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...hosting import GONE
from ..api.interface import Google, ResourceNotFound
from ..api.operations import finish

_UP = {"PROVISIONING", "STAGING", "RUNNING"}
_FALLEN = {GONE, "TERMINATED", "STOPPING", "SUSPENDED"}


@dataclass(frozen=True, slots=True)
class VmStatus:
    """The VM of this name: an implementation of `Hosting`. All calls raise `GoogleError`.

    google: the API client.
    project: the project's id.
    zone: the VM's zone.
    name: the VM's name.
    """

    google: Google
    project: str
    zone: str
    name: str

    @property
    def where(self) -> str:
        """The VM's zone."""
        return self.zone

    def status(self) -> str:
        """Return the VM's status in Compute Engine's words (RUNNING, TERMINATED, …), or GONE."""
        try:
            return str(self.google.call("compute.instances.get", **self._at).get("status", ""))
        except ResourceNotFound:
            return GONE

    def fallen(self) -> bool:
        """True if it does not run, and is not about to."""
        return self.status() in _FALLEN

    def start(self) -> bool:
        """Start it. Return True if it did not run. Raises `ResourceNotFound` if it does not exist."""
        if self.google.call("compute.instances.get", **self._at).get("status") in _UP:
            return False
        self._do("compute.instances.start")
        return True

    def stop(self) -> bool:
        """Shut it down. The bastion on it ends its tick first. Return True if it ran."""
        if self.status() not in _UP:
            return False
        self._do("compute.instances.stop")
        return True

    def delete(self) -> bool:
        """Delete it. Return True if it existed."""
        try:
            self._do("compute.instances.delete")
        except ResourceNotFound:
            return False
        return True

    def console(self) -> str:
        """Return the last part of its serial console."""
        return str(self.google.call("compute.instances.getSerialPortOutput", **self._at).get("contents", ""))

    @property
    def _at(self) -> dict[str, Any]:
        return {"project": self.project, "zone": self.zone, "instance": self.name}

    def _do(self, method: str) -> None:
        finish(self.google, "compute", self.google.call(method, **self._at), **self._at)
