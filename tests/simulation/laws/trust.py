"""Laws about untrusted data: listings with machines of other people, and forged claims and facts."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bastion.model.stored.events import AnyEvent, Claimed, Exited
from tests.simulation.parts.broken import Broken

FORGED = "an end that its worker did not tell"
"""The message of every forged end."""


@dataclass(slots=True)
class TrustLaws:
    """Checks that data which any user could have written counts as no proof."""

    def deletes(self, machine: str, spoofs: Collection[str]) -> None:
        """Check that a deleted machine is not one of somebody else."""
        if machine in spoofs:
            raise Broken(f"{machine} is somebody else's, and a bastion ends it")

    def gives_up(self, epoch: int, epochs: Collection[int]) -> None:
        """Check that a bastion gives up its leadership only when the journal holds a larger epoch."""
        if epoch and max(epochs, default=0) <= epoch:
            raise Broken(f"epoch {epoch} gives up, and the journal knows no larger one")

    def event(self, event: AnyEvent) -> None:
        """Check an event: a worker runs on its own machine, and only its own facts end it."""
        if isinstance(event, Claimed) and f":{event.key}/{event.worker}@" not in event.machine:
            raise Broken(f"worker {event.worker} of {event.key} is said to be on {event.machine}")
        if isinstance(event, Exited) and event.message == FORGED:
            raise Broken(f"worker {event.worker} of {event.key} is said to have ended, by forged facts")
