"""What a client knows of a bastion at one moment. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Job, State
from bastion.model.stored.gaps import Hole
from bastion.model.stored.records import Status
from bastion.model.stored.requests import job_id

from ..durations import short


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A submitted job that the bastion has not read yet. `stored` is when the request was written."""

    request_id: str
    spec: JobSpec
    stored: datetime

    @property
    def id(self) -> str:
        """The id that the job will have."""
        return job_id(self.spec.name, self.request_id)


Known = Job | Unread
"""A job, read by the bastion or not yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """One look at a bastion. `status` is None if no bastion of this name was ever seen; `now` is the wall's time.

    `holes` are what of the journal could not be read: the state may lack what stood there.
    """

    state: State
    unread: tuple[Unread, ...]
    status: Status | None
    now: datetime
    holes: tuple[Hole, ...] = ()


def tick_age_s(status: Status | None, now: datetime) -> float | None:
    """Seconds since the bastion's last known tick."""
    return max(0.0, (now - status.last_tick).total_seconds()) if status else None


def not_read_yet(status: Status | None, now: datetime) -> str:
    """Why an unread request waits."""
    age = tick_age_s(status, now)
    seen = "never seen" if age is None else f"last seen {short(age)} ago"
    return f"not read yet; bastion {seen}"
