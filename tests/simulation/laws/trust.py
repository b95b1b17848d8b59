"""What must hold whatever others say: listings that spoof, claims and facts that are forged."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from bastion.model.stored.events import AnyEvent, Claimed, Exited
from tests.simulation.parts.broken import Broken

FORGED = "an end that its worker did not tell"
"""The message of every forged end."""


@dataclass(slots=True)
class TrustLaws:
    """Nobody's word counts that anybody could have written."""

    def deletes(self, machine: str, spoofs: Collection[str]) -> None:
        """A machine is deleted: never what is somebody else's."""
        if machine in spoofs:
            raise Broken(f"{machine} is somebody else's, and a bastion ends it")

    def gives_up(self, epoch: int, epochs: Collection[int]) -> None:
        """A bastion takes itself for deposed: only where the journal has another one."""
        if epoch and max(epochs, default=0) <= epoch:
            raise Broken(f"epoch {epoch} gives up, and the journal knows no larger one")

    def event(self, event: AnyEvent) -> None:
        """Something is in the journal: a worker runs on a machine of its own, and ends by its own word."""
        if isinstance(event, Claimed) and f":{event.key}/{event.worker}@" not in event.machine:
            raise Broken(f"worker {event.worker} of {event.key} is said to be on {event.machine}")
        if isinstance(event, Exited) and event.message == FORGED:
            raise Broken(f"worker {event.worker} of {event.key} is said to have ended, by forged facts")
