"""What must hold of jobs of several shapes: an attempt has one of those that its user listed, and is charged for just that."""

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
    """Keeps the choice of each attempt, from the events alone. `wishes` are the specs in force, by job."""

    wishes: Mapping[str, JobSpec]
    choices: dict[AttemptKey, int] = field(default_factory=dict)

    def event(self, event: AnyEvent) -> None:
        """An event of the journal."""
        if isinstance(event, Started):
            self.choices[event.key] = event.choice
            if not 0 <= event.choice < len(self.wishes[event.job].choices):
                raise Broken(f"{event.key} is started as choice {event.choice}, which nobody listed")

    def written(self, truth: State, capacity: Resources) -> None:
        """After a journal object no more is promised than there is; who has nothing waits for the first choice."""
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
        """Machines are asked for: those of the attempt's choice."""
        shape = self.shape(placement.key)
        if (placement.resources, placement.replicas) != (shape.resources, shape.replicas):
            raise Broken(f"{placement.key} gets {placement.replicas} of {placement.resources}, and is another choice")

    def shape(self, key: AttemptKey) -> Alternative:
        """What an attempt holds, or held."""
        return self.wishes[key.job].choices[self.choices[key]]
