"""Views of a bastion at a time in the past, from the journal alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bastion.journal import journal_reader, point_in_time
from bastion.model.errors import BastionError, JobNotFound, RecordError, UsageError
from bastion.model.interfaces import Bucket, Tasks
from bastion.model.state.state import Job
from bastion.model.stored.journal_object import Gaps

from .job_lookup import FoundJob, known
from .job_rows import rfc3339
from .past_jobs import look_up
from .view import NOT_READ_YET, View


def as_of_view(bucket: Bucket, tasks: Tasks, moment: datetime, now: datetime, note: Callable[[str], None]) -> View:
    """Return the view that the bastion had at that time. It has no unread requests and no status.

    `note` is called with a message if this takes long. Raises `UsageError` for a time in the future, `BastionError` for
    one before the journal begins, `BucketError`, `RecordError`.
    """
    if moment > now:
        raise UsageError(
            f"--at is {rfc3339(moment)}, which is in the future: it is {rfc3339(now)} now; use an earlier time"
        )
    number = point_in_time.number_after(bucket, moment, tasks.map)
    if number == 0:
        first = journal_reader.time_of(bucket, 0)
        begins = f"begins at {rfc3339(first)}; use a later time" if first else "is empty"
        raise BastionError(f"nothing is known of {rfc3339(moment)}: the journal {begins}")
    gaps = Gaps()
    state = point_in_time.state_below(bucket, number, tasks.map, gaps, note)
    if state.now is None:
        raise RecordError(gaps.found[0].problem)
    return View(state=state, unread=(), status=None, now=moment, gaps=tuple(gaps.found))


def job_then(
    word: str, then: View, bucket: Bucket, tasks: Tasks, today: Callable[[], View], task: int | None
) -> FoundJob:
    """Return the job with this id, or else the newest that had this name then, even if it had ended long before.

    Raises `JobNotFound`, whose message says so if the job came only later.
    """
    try:
        found = look_up(word, then, bucket, tasks, task=task)
    except JobNotFound:
        later = known(word, today())
        if later is None:
            raise
        raise _too_early(later, then) from None
    if isinstance(found.known, Job) and found.known.submitted > then.now:
        raise _too_early(found, then)
    return found


def _too_early(found: FoundJob, then: View) -> JobNotFound:
    came = f"it was submitted at {rfc3339(found.job.submitted)}; use a later time" if found.job else NOT_READ_YET
    return JobNotFound(f"{found.id} was not in the journal at {rfc3339(then.now)}: {came}")
