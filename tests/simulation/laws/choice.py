"""Laws about jobs of several shapes: an attempt has one of the listed shapes, and is charged for exactly that one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bastion.model.interfaces import AttemptKey, Placement
from bastion.model.job.alternatives import Alternative
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import State
from bastion.model.stored.events import AnyEvent, Started
from bastion.quota.resources import Resources, fits, total
from tests.simulation.parts.broken import Broken


@dataclass(slots=True)
class ChoiceLaws:
    """Keeps the choice of each attempt, from the events alone. `wishes` holds the spec in force of each job."""

    wishes: Mapping[str, JobSpec]
    choices: dict[AttemptKey, int] = field(default_factory=dict)

    def event(self, event: AnyEvent) -> None:
        """Note and check an event of the journal."""
        if isinstance(event, Started):
            self.choices[event.key] = event.choice
            if not 0 <= event.choice < len(self.wishes[event.job].choices):
                raise Broken(f"{event.key} is started as choice {event.choice}, which nobody listed")

    def written(self, truth: State, capacity: Resources) -> None:
        """Check the state after a journal object.

        Attempts hold no more than the capacity, and a job without attempts waits for its first choice.
        """
        shapes = {key: self.shape(key) for key, _, _ in truth.live_attempts()}
        for key, job, _ in truth.live_attempts():
            if (job.resources, job.replicas) != (shapes[key].resources, shapes[key].replicas):
                raise Broken(f"{key} is charged for {job.demand}, and was given {shapes[key].demand}")
        if not fits(held := total(shape.demand for shape in shapes.values()), capacity):
            raise Broken(f"the journal promises {held} of {capacity}")
        for name in truth.pending.keys() - truth.live.keys():
            if truth.jobs[name].demand != self.wishes[name].demand:
                raise Broken(f"{name} waits for {truth.jobs[name].demand}, and wants {self.wishes[name].demand} most")

    def creates(self, placement: Placement) -> None:
        """Check that the requested machines are those of the attempt's choice."""
        shape = self.shape(placement.key)
        if (placement.resources, placement.replicas) != (shape.resources, shape.replicas):
            raise Broken(f"{placement.key} gets {placement.replicas} of {placement.resources}, and is another choice")

    def shape(self, key: AttemptKey) -> Alternative:
        """Return what an attempt holds, or held."""
        return self.wishes[key.job].choices[self.choices[key]]
