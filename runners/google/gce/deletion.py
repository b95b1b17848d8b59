"""The deletion of VMs: one by one, on request, and only while a VM is of the creation that was meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from ..api.interface import ResourceNotFound
from ..machines.google_context import GoogleContext
from ..machines.names import GoogleHost, mark_of
from .listing import GceListing

AGAIN_S = 60.0
"""The seconds after which a deletion that has not finished is requested again."""


@dataclass(slots=True)
class VmDeletion:
    """The deletions in one project. Safe for threads.

    context: the context of Google's machines.
    """

    context: GoogleContext
    _begun: dict[GoogleHost, float] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def ask(self, host: GoogleHost) -> None:
        """Delete this VM, which is not wanted any more. Raises `GoogleError` if it cannot be deleted."""
        now = self.context.clock.monotonic()
        with self._lock:
            if now - self._begun.get(host, float("-inf")) < AGAIN_S:
                return
            self._begun[host] = now
        try:
            self._delete(host)
        except Exception:
            with self._lock:
                self._begun.pop(host, None)
            raise

    def seen(self, listed: GceListing) -> None:
        """Forget the deletions of VMs that are gone."""
        now = self.context.clock.monotonic()
        live = {vm.host for vm in listed.vms}
        with self._lock:
            self._begun = {host: at for host, at in self._begun.items() if host in live or now - at < AGAIN_S}

    def get(self, host: GoogleHost) -> Mapping[str, Any] | None:
        """Return the VM that has a host's name now; None if none has. Raises `GoogleError`."""
        try:
            return self.context.google.call("compute.instances.get", **self._named(host))
        except ResourceNotFound:
            return None

    def _delete(self, host: GoogleHost) -> None:
        # The name may belong to a newer creation by now, or to somebody else.
        there = self.get(host)
        mark = mark_of(there.get("labels", {})) if there else None
        if mark is None or (mark.scope, mark.nonce) != (self.context.scope, host.nonce):
            return
        try:
            self.context.google.call("compute.instances.delete", **self._named(host))
        except ResourceNotFound:
            return

    def _named(self, host: GoogleHost) -> dict[str, str]:
        return {"project": self.context.project, "zone": host.zone, "instance": host.name}
