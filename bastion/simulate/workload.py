"""What a simulation is given: the jobs that come, and how the fleet works. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from ..model.job.spec import JobSpec

NONE = timedelta(0)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that comes: when, under which id, what it asks for, and how long each of its tasks has to work."""

    at: datetime
    job: str
    spec: JobSpec
    work: tuple[timedelta, ...]


@dataclass(frozen=True, slots=True)
class WorkPace:
    """How work is saved and taken up again, and how often is decided.

    A task saves its work each time it has done another `checkpoint` of it (above 0); who is stopped goes on from there.
    An attempt that follows another spends `restart` before it works. Decisions fall only on multiples of `tick`; 0: at
    any moment at which something changed.
    """

    checkpoint: timedelta
    restart: timedelta = NONE
    tick: timedelta = NONE

    def before(self, attempt: int) -> timedelta:
        """What the attempt of this number spends before it works."""
        return self.restart if attempt else NONE

    def saved(self, held: timedelta, attempt: int) -> timedelta:
        """The work that lasts, of an attempt of this number that was stopped after this long."""
        worked = max(NONE, held - self.before(attempt))
        return worked - worked % self.checkpoint
