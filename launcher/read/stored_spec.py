"""The spec of a job, from where it lies."""

from __future__ import annotations

from bastion.journal import journal_reader
from bastion.model.errors import RecordError
from bastion.model.interfaces import Bucket, Tasks
from bastion.model.job.spec import JobSpec
from bastion.model.stored.gaps import Holes

from .job_lookup import FoundJob


def stored_spec(bucket: Bucket, tasks: Tasks, found: FoundJob, holes: Holes) -> JobSpec | None:
    """What is in force of a job's spec; None for one that was rejected, whose spec is not kept, or that lies in a hole."""
    if found.unread:
        return found.unread.spec
    return journal_reader.spec_of(bucket, found.job, tasks.map, holes) if found.job else None


def needed_spec(bucket: Bucket, tasks: Tasks, found: FoundJob) -> JobSpec:
    """The same. Raises `RecordError` where there is none."""
    holes = Holes()
    spec = stored_spec(bucket, tasks, found, holes)
    if spec is None:
        why = holes.found[0].problem if holes.found else "it was rejected, and its spec was not kept"
        raise RecordError(f"there is no spec of {found.id}: {why}; launch it anew")
    return spec
