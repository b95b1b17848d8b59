"""What the runners of Google's machines do alike."""

from __future__ import annotations

from collections.abc import Callable, Collection

from bastion.model.interfaces import AttemptKey, Sight
from bastion.quota.resources import Resources

from . import names
from .creation import Creation
from .existence import Existence, ExistenceCheck
from .google_context import GoogleContext
from .names import GoogleHost
from .pending_creations import PendingCreations


class GoogleRunner:
    """Machines in one of Google's projects."""

    name: str
    offers: Collection[str] | None
    pace_s: float = 10.0

    def __init__(
        self, site: GoogleContext, hopes: PendingCreations, found: Callable[[GoogleHost], Existence | None]
    ) -> None:
        """`found` answers what has a host's name; it may raise `GoogleError`."""
        self.site = site
        self._asking = Creation(site, hopes)
        self._witness = ExistenceCheck(found, site.clock, site.scope)

    def capacity(self) -> Resources | None:
        """As given; Google does not say how much there is."""
        return self.site.given

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """By its name, which is made of scope and attempt."""
        host = names.host_of(machine)
        return host is not None and names.is_of(host, self.site.scope, key)

    def stop(self, machine: str) -> None:
        """The worker looks for its stop order by itself, every few seconds: nothing reaches it from here."""

    def look(self, machine: str) -> Sight:
        """The direct question. Gone is what Google called gone twice."""
        host = names.host_of(machine)
        return self._witness.look(host) if host else Sight.GONE
