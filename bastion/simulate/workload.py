"""The workload of a simulation: the jobs that arrive, and how the fleet works. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..model.job.spec import JobSpec

NONE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that arrives.

    at: when.
    job: its id.
    spec: what it asks for.
    work: how long each of its tasks has to work.
    """

    at: datetime
    job: str
    spec: JobSpec
    work: tuple[timedelta, ...]


@dataclass(frozen=True, slots=True)
class WorkPace:
    """The rules for saving work, for restarts and for the times of decisions.

    checkpoint: a task saves its work each time it has done this much more of it (above 0); a stopped task goes on from
        there.
    restart: time that every attempt after a task's first spends before it works.
    tick: decisions fall only on multiples of this; 0: at any moment at which something changed.
    """

    checkpoint: timedelta
    restart: timedelta = NONE
    tick: timedelta = NONE

    def before(self, attempt: int) -> timedelta:
        """Return the time that the attempt of this number spends before it works."""
        return self.restart if attempt else NONE

    def saved(self, held: timedelta, attempt: int) -> timedelta:
        """Return the work that is saved when the attempt of this number is stopped after this long."""
        worked = max(NONE, held - self.before(attempt))
        return worked - worked % self.checkpoint
