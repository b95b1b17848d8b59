"""`launch top`: first of one's own pending jobs."""

from __future__ import annotations

from bastion.launcher.read.job_lookup import FoundJob
from bastion.model.stored.requests import Top

from ..common.job_requests import JobRequest
from ..terminal.main import Call


def run(call: Call) -> int:
    """Ask for it, and say among which jobs."""
    asking = JobRequest.begin(call)
    return asking.ask(asking.one(), lambda found: Top(job=found.id), _told)


def _told(found: FoundJob) -> str:
    job = found.job or found.spec
    return f"{found.id}: first of the pending jobs of {job.user} in {job.project} with priority {job.priority}"
