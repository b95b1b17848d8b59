"""The spec of a job, from where it lies."""

from __future__ import annotations

from bastion.errors import BastionError, RecordError
from bastion.ports import Bucket
from bastion.recover import spec_of
from bastion.spec import JobSpec
from launcher.find import Found


def stored_spec(bucket: Bucket, found: Found) -> JobSpec | None:
    """What is in force of the job's spec; None for one that was rejected, whose spec is not kept."""
    if found.unread:
        return found.unread.spec
    try:
        return spec_of(bucket, found.job) if found.job else None
    except RecordError:
        return None


def needed_spec(bucket: Bucket, found: Found) -> JobSpec:
    """The same. Raises `BastionError` where there is none."""
    spec = stored_spec(bucket, found)
    if spec is None:
        raise BastionError(f"{found.id} was rejected, and its spec was not kept; launch it anew")
    return spec
