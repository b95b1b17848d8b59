"""The common part of the runners of Google's machines."""

from __future__ import annotations

from collections.abc import Callable, Collection

from bastion.model.interfaces import AttemptKey, MachineExistence
from bastion.quota.resources import Resources

from . import names
from .creation import Creation
from .existence import Existence, ExistenceCheck
from .google_context import GoogleContext
from .names import GoogleHost
from .pending_creations import PendingCreations


class GoogleRunner:
    """A runner of machines in one of Google's projects.

    name: the runner's name.
    offers: the kinds of resources that it has.
    pace_s: the seconds between two listings.
    """

    name: str
    offers: Collection[str] | None
    pace_s: float = 10.0

    def __init__(
        self, context: GoogleContext, pending: PendingCreations, found: Callable[[GoogleHost], Existence | None]
    ) -> None:
        """Keep what all runners share. `found` returns what has a host's name; it may raise `GoogleError`."""
        self.context = context
        self._asking = Creation(context, pending)
        self._witness = ExistenceCheck(found, context.clock, context.scope)

    def capacity(self) -> Resources | None:
        """Return the capacity in the settings; Google does not say how much there is."""
        return self.context.given

    def is_of(self, machine: str, key: AttemptKey, worker: int) -> bool:
        """True if the machine's name is the one made from this scope and attempt."""
        host = names.host_of(machine)
        return host is not None and names.is_of(host, self.context.scope, key)

    def stop(self, machine: str) -> None:
        """Do nothing: the worker looks for its stop order every few seconds, and cannot be reached from here."""

    def look(self, machine: str) -> MachineExistence:
        """Check directly whether the machine exists. It is gone only after Google said so twice."""
        host = names.host_of(machine)
        return self._witness.look(host) if host else MachineExistence.GONE
