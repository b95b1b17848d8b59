"""Jobs and their events for as long as the bucket lasts: of those that the state knows, and of those that left it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bastion.journal import journal_reader, tombstones
from bastion.model.interfaces import Bucket, Tasks
from bastion.model.stored.gaps import Holes
from bastion.model.stored.journal_object import JournalObject

from .job_lookup import FoundJob, checked_task, found_of, known, of_word, unknown
from .view import View

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def look_up(word: str, view: View, bucket: Bucket, tasks: Tasks, *, task: int | None = None) -> FoundJob:
    """As `find`, and then among the jobs that left the state. Raises `NotFound` naming the nearest, `UsageError`."""
    if found := known(word, view, task=task):
        return found
    wanted, number = of_word(word, task)
    job = tombstones.find(bucket, wanted, tasks.map) if _WORD.fullmatch(wanted) else None
    if job is None:
        raise unknown(word, view)
    return checked_task(found_of(job), number)


def records(
    bucket: Bucket, tasks: Tasks, view: View, found: FoundJob, holes: Holes, *, most: int | None = None
) -> Iterator[JournalObject]:
    """The journal objects that hold the events of a job, a read each; with `most` the first and the newest, so many in all."""
    numbers = journal_reader.numbers_of(view.state, found.job) if found.job else []
    if most is not None and len(numbers) > most:
        numbers = [numbers[0], *numbers[-most + 1 :]]
    return journal_reader.read(bucket, numbers, tasks.map, holes)
