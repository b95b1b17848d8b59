"""The view of a client on a bastion at one time, and filters of its jobs by user, project, state, age and labels. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bastion.model.durations import moment, short
from bastion.model.errors import UsageError
from bastion.model.job import spec
from bastion.model.job.spec import JobSpec
from bastion.model.layout import job_id
from bastion.model.nearest import did_you_mean
from bastion.model.state.state import ENDED, Job, JobState, State
from bastion.model.stored.journal_object import Gap
from bastion.model.stored.status import Status

LIVE = frozenset(JobState) - ENDED
"""The states of jobs that have not ended."""

NOT_READ_YET = "the scheduler has not picked it up yet"
"""The reason of a job whose request the bastion has not read yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadJob:
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


Known = Job | UnreadJob
"""A job, read by the bastion or not yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The result of one look at a bastion.

    state: the fold of the journal; it may lack what lies in a gap.
    unread: submissions that the bastion has not read yet.
    status: last status that the bastion wrote; None: it never wrote one, or the view is of the past.
    now: wall-clock time of the look, or the time in the past that the view shows.
    gaps: gaps of the journal.
    """

    state: State
    unread: tuple[UnreadJob, ...]
    status: Status | None
    now: datetime
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """The conditions that all selected jobs meet. None means any.

    users: users of the jobs.
    projects: projects of the jobs.
    states: states of the jobs.
    since: the jobs were submitted then or later.
    labels: labels that the jobs have, among others.
    """

    users: frozenset[str] | None = None
    projects: frozenset[str] | None = None
    states: frozenset[JobState] | None = None
    since: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def matches(self, known: Known) -> bool:
        """Return True if the job meets all conditions."""
        job = known if isinstance(known, Job) else known.spec
        return (
            (self.users is None or job.user in self.users)
            and (self.projects is None or job.project in self.projects)
            and self.labels.items() <= job.labels.items()
            and (self.since is None or submitted(known) >= self.since)
            and (self.states is None or state(known) in self.states)
        )

    def unknown_names(self, view: View) -> list[str]:
        """Return a line for each named user and project that has no job at all: it is probably mistyped."""
        jobs: list[Known] = [*view.state.jobs.values(), *view.unread]
        specs = [known if isinstance(known, Job) else known.spec for known in jobs]
        users, projects = {job.user for job in specs}, {job.project for job in specs}
        return [
            f"{what} {name} has no job here; {did_you_mean(name, known, 'see launch ls --all')}"
            for what, wanted, known in (("user", self.users, users), ("project", self.projects, projects))
            for name in sorted((wanted or frozenset()) - known)
        ]


def filter_of(flags: Mapping[str, Any], now: datetime) -> JobFilter:
    """Return the filter that these flags set, by their names, and nothing else. Raises `UsageError`."""
    return JobFilter(
        users=words(flags["user"]),
        projects=words(flags["project_id"]),
        states=states(flags["state"]),
        since=moment(flags["since"], now) if flags["since"] else None,
        labels=_labels(flags["label"]),
    )


def _labels(labels: Mapping[str, str]) -> Mapping[str, str]:
    """Return these labels. Raises `UsageError` for one that no job can have."""
    if wrong := next(spec.labels(labels), None):
        raise UsageError(f"--label {wrong}")
    return labels


def submitted(known: Known) -> datetime:
    """Return when the job was submitted."""
    return known.came if isinstance(known, Job) else known.stored


def state(known: Known) -> JobState:
    """Return the state of the job. A job that the bastion has not read yet is pending."""
    return known.state if isinstance(known, Job) else JobState.PENDING


def newest(jobs: Sequence[Known], number: int) -> list[Known]:
    """Return the `number` jobs that were submitted last, in the order of `jobs`."""
    places = sorted(range(len(jobs)), key=lambda at: (submitted(jobs[at]), at), reverse=True)[:number]
    return [jobs[at] for at in sorted(places)]


def words(texts: Iterable[str]) -> frozenset[str] | None:
    """Split a flag that may be repeated and takes lists, as in `-u alice,bob -u eve`. None if it has no words."""
    found = frozenset(word.strip() for text in texts for word in text.split(",") if word.strip())
    return found or None


def states(texts: Iterable[str]) -> frozenset[JobState] | None:
    """Parse the words of such a flag as states, in any case. Raises `UsageError` with the nearest state."""
    names = words(texts)
    return None if names is None else frozenset(_state(name) for name in sorted(names))


def _state(name: str) -> JobState:
    try:
        return JobState(name.upper())
    except ValueError:
        hint = did_you_mean(name[:100], [known.value for known in JobState], f"use {', '.join(JobState)}")
        raise UsageError(f"{name[:100]!r} is not a state; {hint}") from None


def tick_age_s(status: Status | None, now: datetime) -> float | None:
    """Return the seconds since the last tick in the bastion's status; None without a status."""
    return max(0.0, (now - status.last_tick).total_seconds()) if status else None


def not_read_yet(status: Status | None, now: datetime) -> str:
    """Say why an unread request waits."""
    age = tick_age_s(status, now)
    seen = "never active" if age is None else f"last active {short(age)} ago"
    return f"{NOT_READ_YET} ({seen})"
