"""Find the job for a word of the command line: an id or a name (the newest job), each also with `[task]`. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from bastion.model.errors import JobNotFound, UsageError
from bastion.model.job.spec import JobSpec
from bastion.model.nearest import did_you_mean
from bastion.model.state.state import Job

from .view import Known, UnreadJob, View

_TASK = re.compile(r"(?P<job>.+)\[(?P<task>[0-9]{1,6})\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundJob:
    """A job that was found, and one of its tasks if the word names one. Either `job` or `unread` is set.

    id: id of the job.
    name: name of the job.
    user: user of the job.
    count: number of its tasks.
    task: number of the task that is meant; None: the whole job.
    job: the job, if the bastion has read its request; else None.
    unread: the request, if the bastion has not read it yet; else None.
    """

    id: str
    name: str
    user: str
    count: int
    task: int | None = None
    job: Job | None = None
    unread: UnreadJob | None = None

    @property
    def spec(self) -> JobSpec:
        """The spec of a job whose request is not read yet."""
        assert self.unread is not None
        return self.unread.spec

    @property
    def known(self) -> Known:
        """The job or its unread request, the one that is set."""
        known = self.job or self.unread
        assert known is not None
        return known


def find(word: str, view: View, *, task: int | None = None) -> FoundJob:
    """Return the job with this id, or else the newest with this name.

    Raises `JobNotFound` with the nearest name, or if the job has no such task.
    """
    found = known(word, view, task=task)
    if found is None:
        raise unknown(word, view)
    return found


def known(word: str, view: View, *, task: int | None = None) -> FoundJob | None:
    """Return the job as `find` does, or None if there is no such job. Raises `JobNotFound` if it has no such task."""
    wanted, number = of_word(word, task)
    found = _job(wanted, view)
    return checked_task(found, number) if found else None


def unknown(word: str, view: View) -> JobNotFound:
    """Return the error for a word that matches no job, with the nearest name."""
    wanted, _ = of_word(word, None)
    names = {job.name for job in view.state.jobs.values()} | {u.spec.name for u in view.unread} | view.state.jobs.keys()
    return JobNotFound(f"no job {wanted[:100]!r}; {did_you_mean(wanted[:100], names, 'see launch ls --all')}")


def of_word(word: str, task: int | None) -> tuple[str, int | None]:
    """Split a word into the id or name and the task. Without `[task]` the task is `task`, which comes from a flag."""
    match = _TASK.fullmatch(word)
    return (match["job"], int(match["task"])) if match else (word, task)


def checked_task(found: FoundJob, task: int | None) -> FoundJob:
    """Return the job with this task selected. Raises `JobNotFound` if it has no task of this number."""
    if task is not None and not 0 <= task < found.count:
        raise JobNotFound(f"{found.name} has no task {task}; its tasks are 0 to {found.count - 1}")
    return replace(found, task=task)


def found_of(known: Known) -> FoundJob:
    """Wrap a job, or an unread request, as a found job."""
    if isinstance(known, Job):
        return FoundJob(id=known.id, name=known.name, user=known.user, count=known.count, job=known)
    spec = known.spec
    return FoundJob(id=known.id, name=spec.name, user=spec.user, count=spec.count, unread=known)


def one_task(found: FoundJob) -> int:
    """Return the number of the selected task. Raises `UsageError` if the job has several and none is selected."""
    if found.task is None and found.count > 1:
        raise UsageError(f"{found.name} has {found.count} tasks; name one, as in '{found.name}[0]'")
    return found.task or 0


def _job(wanted: str, view: View) -> FoundJob | None:
    if wanted in view.state.jobs:
        return found_of(view.state.jobs[wanted])
    # A word may also be the id of the request. A full request name, with its "/", is no word for a job.
    if (asked := [job for job in view.state.jobs.values() if job.request.endswith(f"/{wanted}")]) and "/" not in wanted:
        return found_of(asked[-1])
    unread = [u for u in view.unread if wanted in (u.id, u.spec.name)]
    if unread:
        return found_of(max(unread, key=lambda u: (u.id == wanted, u.stored)))
    named = [job for job in view.state.jobs.values() if job.name == wanted]
    return found_of(max(named, key=lambda job: (job.seq, job.index))) if named else None
