"""Read the history of a project from the bucket. Reads only the journal objects about it, where they are known."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from bastion.journal import journal_reader, tombstones
from bastion.journal.fold import apply, concerned
from bastion.model.interfaces import Bucket, Tasks
from bastion.model.state.state import Job, State
from bastion.model.stored.events import CapacityChanged, FileChanged
from bastion.model.stored.journal_object import Gaps, JournalObject

from .project_history import ProjectEntry, ProjectHistory, held_at

MARKS_BEFORE = 16
"""Changes of each file and of the capacity before the window that are read, to find what was in force at its begin."""


def project_history(
    bucket: Bucket, tasks: Tasks, state: State, project: str, since: datetime, gaps: Gaps
) -> Iterator[ProjectEntry]:
    """Yield an entry for each event of the project's jobs, and each change of its share, since then.

    The state knows the journal objects of its jobs. It does not know those of jobs that left it: as far as such jobs
    ran in the window, the journal is read in full. Raises `BucketError`, `RecordError`.
    """
    first = journal_reader.number_at(bucket, state, since, tasks.map)
    full = range(first, _known_from(bucket, tasks, state, first, since))
    jobs = {job.id: job for job in state.jobs.values() if job.project == project}
    marks = [number for what in ("quota", "capacity") for number in state.marks.get(what, ())]
    known = [number for job in jobs.values() for number in (job.seq, *job.later)]
    book = ProjectHistory(project, jobs, _facts(bucket, tasks, state, first, gaps))
    met: dict[str, Job | None] = {**state.jobs}
    for record in journal_reader.read(
        bucket, sorted({*full, *(number for number in known + marks if number >= first)}), tasks.map, gaps
    ):
        if record.seq in full:
            jobs |= {job.id: job for job in _newly_met(bucket, tasks, record, met) if job.project == project}
        if record.now >= since:
            book.take(record)
    yield from book.entries(held_at(jobs.values(), since))


def _known_from(bucket: Bucket, tasks: Tasks, state: State, first: int, since: datetime) -> int:
    """Return the number of the journal object from which on the state knows all objects and jobs."""
    assert state.indexed is not None
    known = max(first, state.indexed)
    if state.forgotten is None or state.forgotten < since:
        return known
    return max(known, journal_reader.number_at(bucket, state, state.forgotten + timedelta(microseconds=1), tasks.map))


def _newly_met(bucket: Bucket, tasks: Tasks, record: JournalObject, met: dict[str, Job | None]) -> list[Job]:
    """Find the jobs of a journal object that left the state and were not met before. Takes one read each."""
    named = dict.fromkeys(job for event in record.events for job in concerned(event) if job not in met)
    found = tasks.map(lambda job: tombstones.of(bucket, job), list(named))
    for job in found:
        if isinstance(job, Exception):
            raise job
    met.update(zip(named, found, strict=True))
    return [job for job in found if job]


def _facts(bucket: Bucket, tasks: Tasks, state: State, first: int, gaps: Gaps) -> State:
    """Return quota, settings and capacity as they were before this number, as far as they can be read."""
    marks = {what: state.marks.get(what, ()) for what in ("quota", "config", "capacity")}
    if all(number < first for numbers in marks.values() for number in numbers):
        return State(files={**state.files}, capacity={**state.capacity}, offers={**state.offers})
    facts = State()
    before = sorted({n for numbers in marks.values() for n in [n for n in numbers if n < first][-MARKS_BEFORE:]})
    for record in journal_reader.read(bucket, before, tasks.map, gaps):
        for event in record.events:
            if isinstance(event, FileChanged | CapacityChanged):
                apply(facts, event, record.seq, 0)
    return facts
