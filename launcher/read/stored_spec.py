"""Find the spec of a job in its request or in the journal, and read a request that the bastion has not consumed."""

from __future__ import annotations

from bastion.journal import journal_reader
from bastion.model import layout
from bastion.model.errors import BastionError, BucketError, ObjectNotFound, RecordError
from bastion.model.interfaces import Bucket, Stat, Tasks
from bastion.model.job.spec import JobSpec
from bastion.model.stored.journal_object import Gaps
from bastion.model.stored.requests import REQUEST_BYTES_MAX, Request, Submit, parse

from .job_lookup import FoundJob
from .view import UnreadJob


def stored_spec(bucket: Bucket, tasks: Tasks, found: FoundJob, gaps: Gaps) -> JobSpec | None:
    """Return the spec of a job as it is in force.

    None if the job was rejected, as its spec is not stored, or if the spec lies in a gap of the journal.
    """
    if found.unread:
        return found.unread.spec
    return journal_reader.spec_of(bucket, found.job, tasks.map, gaps) if found.job else None


def needed_spec(bucket: Bucket, tasks: Tasks, found: FoundJob) -> JobSpec:
    """Return the spec as `stored_spec` does. Raises `RecordError` if there is none."""
    gaps = Gaps()
    spec = stored_spec(bucket, tasks, found, gaps)
    if spec is None:
        why = gaps.found[0].problem if gaps.found else "it was rejected, and its spec was not kept"
        raise RecordError(f"there is no spec of {found.id}: {why}; launch the job again")
    return spec


def unread_of(bucket: Bucket, stat: Stat) -> UnreadJob | None:
    """Return the job that a request submits; None if it is another kind of request, or not valid.

    Raises `BucketError`, `ObjectNotFound`.
    """
    try:
        request: Request = parse(bucket.read(stat.key, REQUEST_BYTES_MAX).data)
    except (BucketError, ObjectNotFound):
        raise
    except BastionError:
        return None
    named = layout.request_of(stat.key)
    if named is None or not isinstance(request, Submit):
        return None
    return UnreadJob(request_id=named[1], spec=request.spec, stored=stat.modified)
