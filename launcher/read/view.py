"""The view of a client on a bastion at one time. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from bastion.model.durations import short
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Job, State
from bastion.model.stored.gaps import Hole
from bastion.model.stored.records import Status
from bastion.model.stored.requests import job_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A submitted job whose request the bastion has not read yet.

    request_id: id of the request.
    spec: spec of the job.
    stored: when the request was written, by the store's clock.
    """

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
    """The result of one look at a bastion.

    state: the fold of the journal; it may lack what lies in a gap.
    unread: submissions that the bastion has not read yet.
    status: last status that the bastion wrote; None: it never wrote one, or the view is of the past.
    now: wall-clock time of the look, or the time in the past that the view shows.
    holes: gaps of the journal.
    """

    state: State
    unread: tuple[Unread, ...]
    status: Status | None
    now: datetime
    holes: tuple[Hole, ...] = ()


def tick_age_s(status: Status | None, now: datetime) -> float | None:
    """Return the seconds since the last tick in the bastion's status; None without a status."""
    return max(0.0, (now - status.last_tick).total_seconds()) if status else None


def not_read_yet(status: Status | None, now: datetime) -> str:
    """Say why an unread request waits."""
    age = tick_age_s(status, now)
    seen = "never seen" if age is None else f"last seen {short(age)} ago"
    return f"not read yet; bastion {seen}"
