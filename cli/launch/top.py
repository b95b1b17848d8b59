"""`launch top`: move a job to the front of its user's own pending jobs."""

from __future__ import annotations

from bastion.launcher.read.job_lookup import FoundJob
from bastion.model.stored.requests import Top

from ..common.job_requests import JobRequest
from ..options.shared import UserOptions
from ..terminal.main import Call


def run(call: Call[UserOptions]) -> int:
    """Send the request, and print which jobs it concerns."""
    asking = JobRequest.begin(call)
    return asking.ask(asking.one(), lambda found: Top(job=found.id), _told)


def _told(found: FoundJob) -> str:
    job = found.job or found.spec
    return f"{found.id}: first of the pending jobs of {job.user} in {job.project} with priority {job.priority}"
