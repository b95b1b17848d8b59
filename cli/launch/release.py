"""`launch release`: let held jobs start again."""

from __future__ import annotations

from bastion.launcher.read.job_lookup import FoundJob
from bastion.model.stored.requests import Release

from ..common.job_requests import JobRequest
from ..options.shared import SeveralOptions
from ..terminal.main import Call


def run(call: Call[SeveralOptions]) -> int:
    """Send the request. A job that is not held stays as it is."""
    asking = JobRequest.begin(call)
    return asking.ask(asking.several(call.options), lambda found: Release(job=found.id), _told)


def _told(found: FoundJob) -> str:
    free = found.job is not None and found.job.held is None
    return f"{found.id}: {'was not held' if free else 'released; it has its old place again'}"
