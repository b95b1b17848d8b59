"""`launch hold`: start nothing more of these jobs."""

from __future__ import annotations

from bastion.launcher.read.job_lookup import FoundJob
from bastion.model.state.state import JobState
from bastion.model.stored.requests import Hold

from ..common.job_requests import JobRequest
from ..options.shared import SeveralOptions
from ..terminal.main import Call


def run(call: Call[SeveralOptions]) -> int:
    """Send the request, and print the consequence for attempts that run."""
    asking = JobRequest.begin(call)
    return asking.ask(asking.several(call.options), lambda found: Hold(job=found.id), _told)


def _told(found: FoundJob) -> str:
    waits = found.job is None or found.job.state is JobState.PENDING
    return f"{found.id}: held{'' if waits else '; its running attempts continue, but do not start again before the release'}"
