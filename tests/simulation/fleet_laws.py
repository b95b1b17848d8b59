"""What must hold of the machines, as the cloud sees them, whatever the journal says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bastion.model.state.state import AttemptState
from bastion.quota.resources import fits, total
from tests.simulation.laws import side as side_laws
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.host import SimHost
from tests.simulation.scene import Scene


@dataclass(slots=True)
class FleetLaws:
    """Looks at every machine that is there."""

    scene: Scene

    def check(self) -> None:
        """Raises `Broken`."""
        there = [host for host in self.scene.hosts.values() if host.there]
        self._one_attempt(host for host in there if host.runs)
        for runner, capacity in self.scene.fleet.items():
            own = (host for host in there if self.scene.owners[host.machine.id] == runner)
            used = total(host.holds for host in own if self._counts(host))
            if not fits(used, capacity):
                raise Broken(f"the machines that are there hold {used} of {capacity}")
        side_laws.check(self.scene.laws.truth, self.scene.fleet)

    def _one_attempt(self, running: Iterable[SimHost]) -> None:
        """Of each task one attempt runs at most, of that one process for each worker, and nothing once it is over."""
        attempts: dict[tuple[str, int], int] = {}
        workers = set()
        for host in running:
            key, worker = host.machine.key, host.machine.worker
            if attempts.setdefault((key.job, key.task), key.attempt) != key.attempt or (key, worker) in workers:
                raise Broken(f"machine {host.machine.id} runs beside another of {key.job}/{key.task}")
            workers.add((key, worker))
            attempt = self.scene.laws.truth.attempt(key)
            if attempt is not None and attempt.state is AttemptState.ENDED:
                raise Broken(f"machine {host.machine.id} runs, and its attempt is over")

    def _counts(self, host: SimHost) -> bool:
        """It holds what its worker claimed: from the claim on until it is gone. One that came up again holds nothing."""
        claim = self.scene.laws.claims.get((host.machine.key, host.machine.worker))
        return host.runs or (claim is not None and claim.machine == host.machine.id and not host.reboots)
