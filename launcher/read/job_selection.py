"""Which jobs are meant, when several are: by user, project, state and age. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bastion.model.errors import UsageError
from bastion.model.nearest import did_you_mean
from bastion.model.state.state import ENDED, Job, JobState

from .view import Known, View

LIVE = frozenset(JobState) - ENDED
"""The states of jobs that have not ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What the jobs have in common that are meant. None: no matter. `since`: submitted then or later."""

    users: frozenset[str] | None = None
    projects: frozenset[str] | None = None
    states: frozenset[JobState] | None = None
    since: datetime | None = None

    def matches(self, known: Known) -> bool:
        """True if the job is meant."""
        job = known if isinstance(known, Job) else known.spec
        return (
            (self.users is None or job.user in self.users)
            and (self.projects is None or job.project in self.projects)
            and (self.since is None or submitted(known) >= self.since)
            and (self.states is None or state(known) in self.states)
        )

    def strangers(self, view: View) -> list[str]:
        """A line for each user and project named of whom nothing is known: probably a slip."""
        jobs: list[Known] = [*view.state.jobs.values(), *view.unread]
        specs = [known if isinstance(known, Job) else known.spec for known in jobs]
        users, projects = {job.user for job in specs}, {job.project for job in specs}
        return [
            f"{what} {name} has no job here; {did_you_mean(name, known, 'see launch ls --all')}"
            for what, wanted, known in (("user", self.users, users), ("project", self.projects, projects))
            for name in sorted((wanted or frozenset()) - known)
        ]


def submitted(known: Known) -> datetime:
    """When the job was submitted."""
    return known.came if isinstance(known, Job) else known.stored


def state(known: Known) -> JobState:
    """Where the job stands; one that was not read yet waits."""
    return known.state if isinstance(known, Job) else JobState.PENDING


def newest(jobs: Sequence[Known], number: int) -> list[Known]:
    """The `number` jobs that were submitted last, in the order in which they came."""
    places = sorted(range(len(jobs)), key=lambda at: (submitted(jobs[at]), at), reverse=True)[:number]
    return [jobs[at] for at in sorted(places)]


def words(texts: Iterable[str]) -> frozenset[str] | None:
    """The words of a flag that repeats and takes lists: `-u alice,bob -u eve`. None if there are none."""
    found = frozenset(word.strip() for text in texts for word in text.split(",") if word.strip())
    return found or None


def states(texts: Iterable[str]) -> frozenset[JobState] | None:
    """The same for states, whatever their capitals. Raises `UsageError` naming the nearest."""
    names = words(texts)
    return None if names is None else frozenset(_state(name) for name in sorted(names))


def _state(name: str) -> JobState:
    try:
        return JobState(name.upper())
    except ValueError:
        hint = did_you_mean(name[:100], [known.value for known in JobState], f"use {', '.join(JobState)}")
        raise UsageError(f"{name[:100]!r} is not a state; {hint}") from None
