"""Find the spec of a job in its request or in the journal."""

from __future__ import annotations

from bastion.journal import journal_reader
from bastion.model.errors import RecordError
from bastion.model.interfaces import Bucket, Tasks
from bastion.model.job.spec import JobSpec
from bastion.model.stored.gaps import Holes

from .job_lookup import FoundJob


def stored_spec(bucket: Bucket, tasks: Tasks, found: FoundJob, holes: Holes) -> JobSpec | None:
    """Return the spec of a job as it is in force.

    None if the job was rejected, as its spec is not stored, or if the spec lies in a gap of the journal.
    """
    if found.unread:
        return found.unread.spec
    return journal_reader.spec_of(bucket, found.job, tasks.map, holes) if found.job else None


def needed_spec(bucket: Bucket, tasks: Tasks, found: FoundJob) -> JobSpec:
    """Return the spec as `stored_spec` does. Raises `RecordError` if there is none."""
    holes = Holes()
    spec = stored_spec(bucket, tasks, found, holes)
    if spec is None:
        why = holes.found[0].problem if holes.found else "it was rejected, and its spec was not kept"
        raise RecordError(f"there is no spec of {found.id}: {why}; launch it anew")
    return spec
