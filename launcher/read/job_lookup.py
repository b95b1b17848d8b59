"""The job that a word on the command line means: an id, a name (the newest), either with `[task]`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bastion.model.errors import NotFound, UsageError
from bastion.model.job.spec import JobSpec
from bastion.model.nearest import did_you_mean
from bastion.model.state.state import Job

from .view import Known, Unread, View

_TASK = re.compile(r"(?P<job>.+)\[(?P<task>[0-9]{1,6})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """A job, read by the bastion (`job`) or not yet (`unread`), and the task of it that is meant, if one is."""

    id: str
    name: str
    user: str
    count: int
    task: int | None = None
    job: Job | None = None
    unread: Unread | None = None

    @property
    def spec(self) -> JobSpec:
        """The spec of a job that is not read yet."""
        assert self.unread is not None
        return self.unread.spec

    @property
    def known(self) -> Known:
        """What is known of it."""
        known = self.job or self.unread
        assert known is not None
        return known


def find(word: str, view: View, *, task: int | None = None) -> FoundJob:
    """The job of this id, or else the newest of this name. Raises `NotFound` naming the nearest, `UsageError`."""
    found = known(word, view, task=task)
    if found is None:
        raise unknown(word, view)
    return found


def known(word: str, view: View, *, task: int | None = None) -> FoundJob | None:
    """The same; None if there is no such job. Raises `NotFound` if it has no such task."""
    wanted, number = of_word(word, task)
    found = _job(wanted, view)
    return checked_task(found, number) if found else None


def unknown(word: str, view: View) -> NotFound:
    """What to say of a word that names no job."""
    wanted, _ = of_word(word, None)
    names = {job.name for job in view.state.jobs.values()} | {u.spec.name for u in view.unread} | view.state.jobs.keys()
    return NotFound(f"no job {wanted[:100]!r}; {did_you_mean(wanted[:100], names, 'see launch ls --all')}")


def of_word(word: str, task: int | None) -> tuple[str, int | None]:
    """The id or name, and the task's number, that a word means; `task` is what a flag says."""
    match = _TASK.fullmatch(word)
    return (match["job"], int(match["task"])) if match else (word, task)


def checked_task(found: FoundJob, task: int | None) -> FoundJob:
    """This task of a job. Raises `NotFound` if it has none of this number."""
    if task is not None and not 0 <= task < found.count:
        raise NotFound(f"{found.name} has no task {task}; its tasks are 0 to {found.count - 1}")
    return replace(found, task=task)


def found_of(known: Known) -> FoundJob:
    """A job that is known."""
    if isinstance(known, Job):
        return FoundJob(id=known.id, name=known.name, user=known.user, count=known.count, job=known)
    spec = known.spec
    return FoundJob(id=known.id, name=spec.name, user=spec.user, count=spec.count, unread=known)


def one_task(found: FoundJob) -> int:
    """The number of the task that is meant. Raises `UsageError` if the job has several and none was named."""
    if found.task is None and found.count > 1:
        raise UsageError(f"{found.name} has {found.count} tasks; name one, as in '{found.name}[0]'")
    return found.task or 0


def _job(wanted: str, view: View) -> FoundJob | None:
    if wanted in view.state.jobs:
        return found_of(view.state.jobs[wanted])
    if (asked := [job for job in view.state.jobs.values() if job.request.endswith(f"/{wanted}")]) and "/" not in wanted:
        return found_of(asked[-1])
    unread = [u for u in view.unread if wanted in (u.id, u.spec.name)]
    if unread:
        return found_of(max(unread, key=lambda u: (u.id == wanted, u.stored)))
    named = [job for job in view.state.jobs.values() if job.name == wanted]
    return found_of(max(named, key=lambda job: (job.seq, job.index))) if named else None
