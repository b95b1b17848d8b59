"""Place attempts: on which runner, and on how many of its hosts, by what the runners say now."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from bastion.quota.demand import Start

from ..journal.attempts import shape
from ..model.errors import RunnerError
from ..model.interfaces import Runner
from ..model.state.state import Job
from .decision_record import Seat
from .runner_choice import RunnerChoice


@dataclass(frozen=True, slots=True)
class AttemptPlacer:
    """The placement of attempts on the runners as they are now.

    runners: the runners that are there, by name.
    places: the configured runners, and the kinds that each gives.
    blind: the names of the runners that are unreachable.
    """

    runners: Mapping[str, Runner]
    places: RunnerChoice
    blind: Container[str]

    @property
    def are_all_unreachable(self) -> bool:
        """Return True if no configured runner is reachable: nothing is known of any machine."""
        return all(self._is_unreachable(name) for name in self.places.offers)

    @property
    def passed_over(self) -> frozenset[str]:
        """Return the unreachable runners, if others may stand in for them."""
        return self.places.passed_over(filter(self._is_unreachable, self.places.offers))

    def of(self, job: Job, start: Start) -> Seat:
        """Return where this start of the job goes. Raises `RunnerError` if no runner can say so now."""
        wanted = shape(job, start.choice)
        name = self.places.runner_of(wanted.resources, start.tier)
        if self._is_unreachable(name):
            raise RunnerError(f"the runner {name} does not answer")
        return name, self.runners[name].workers(wanted.resources, wanted.replicas)

    def _is_unreachable(self, name: str) -> bool:
        return name not in self.runners or name in self.blind
