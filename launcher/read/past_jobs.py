"""Find jobs and their events, including jobs that left the state: the bucket keeps a tombstone of each."""

from __future__ import annotations

import re
from collections.abc import Iterator

from bastion.journal import journal_reader, tombstones
from bastion.model.interfaces import Bucket, Tasks
from bastion.model.stored.journal_object import Gaps, JournalObject

from .job_lookup import FoundJob, checked_task, found_of, known, of_word, unknown
from .view import View

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


def look_up(word: str, view: View, bucket: Bucket, tasks: Tasks, *, task: int | None = None) -> FoundJob:
    """Find a job as `find` does, then among the tombstones. Raises `JobNotFound` with the nearest name."""
    if found := known(word, view, task=task):
        return found
    wanted, number = of_word(word, task)
    job = tombstones.find(bucket, wanted, tasks.map) if _WORD.fullmatch(wanted) else None
    if job is None:
        raise unknown(word, view)
    return checked_task(found_of(job), number)


def records(
    bucket: Bucket, tasks: Tasks, view: View, found: FoundJob, gaps: Gaps, *, most: int | None = None
) -> Iterator[JournalObject]:
    """Yield the journal objects with the events of a job, one read each.

    With `most`, yield at most that many: the first one and the newest ones. Objects that cannot be read go to `gaps`.
    """
    numbers = journal_reader.numbers_of(view.state, found.job) if found.job else []
    if most is not None and len(numbers) > most:
        numbers = [numbers[0], *numbers[-most + 1 :]]
    return journal_reader.read(bucket, numbers, tasks.map, gaps)
