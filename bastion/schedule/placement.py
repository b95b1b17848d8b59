"""Where attempts go: on which runner, and of how many hosts they consist there, as that runner says now."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from bastion.quota.demand import Start

from ..journal.task_counters import shape
from ..model.errors import RunnerError
from ..model.interfaces import Runner
from ..model.state.state import Job
from .decision_record import Seat
from .runner_choice import RunnerChoice


@dataclass(frozen=True, slots=True)
class AttemptPlacer:
    """What the configured ones of these runners, those with `places`, say. Those that are `blind` do not answer."""

    runners: Mapping[str, Runner]
    places: RunnerChoice
    blind: Container[str]

    @property
    def are_all_blind(self) -> bool:
        """Nothing is known of any machine."""
        return all(self._is_blind(name) for name in self.places.offers)

    @property
    def passed_over(self) -> frozenset[str]:
        """The runners that are blind, where others may stand in for them."""
        return self.places.passed_over(filter(self._is_blind, self.places.offers))

    def of(self, job: Job, start: Start) -> Seat:
        """Where this start of the job goes. Raises `RunnerError` where nobody can say so now."""
        wanted = shape(job, start.choice)
        name = self.places.runner_of(wanted.resources, start.tier)
        if self._is_blind(name):
            raise RunnerError(f"the runner {name} does not answer")
        return name, self.runners[name].workers(wanted.resources, wanted.replicas)

    def _is_blind(self, name: str) -> bool:
        return name not in self.runners or name in self.blind
