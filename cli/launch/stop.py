"""`launch stop`: request the end of one or several jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bastion.launcher.read import exit_codes
from bastion.launcher.read.job_lookup import FoundJob, checked_task
from bastion.launcher.read.view import state
from bastion.model.errors import UsageError
from bastion.model.stored.requests import Cancel

from ..common.job_requests import SHOWN, JobRequest, SelectedJobs
from ..options.launch import StopOptions
from ..terminal.confirm import agree
from ..terminal.main import Call
from .wait import until_end

LISTED = 40


def run(call: Call[StopOptions]) -> int:
    """Request the end of the jobs that have not ended.

    With --wait, return once all have ended, with 0: that was the goal.
    """
    asking = JobRequest.begin(call)
    found = _with_task(call, asking.several(call.options))
    asking.check([(job, _cancel(job)) for job in found.jobs])
    over = {(job.id, job.task) for job in found.jobs if job.job and exit_codes.ended(job.job, job.task)}
    for name in (job.name for job in found.jobs if (job.id, job.task) in over):
        call.output.note(f"{name} has ended already")
    live = [job for job in found.jobs if (job.id, job.task) not in over]
    if live and not found.alone:
        _agree(call, live)
    asking.send([(job, _cancel(job)) for job in live])
    for job in live if call.options.wait else ():
        until_end(asking.context, job, call.output)
    return asking.answer(found)


def _cancel(job: FoundJob) -> Cancel:
    return Cancel(job=job.id, task=job.task)


def _with_task(call: Call[StopOptions], found: SelectedJobs) -> SelectedJobs:
    """Add the task of --task, which needs exactly one job. Raises `UsageError`."""
    task = call.options.task
    if task is None:
        return found
    if not found.alone:
        raise UsageError("--task goes with one job; of several, name tasks as in 'sweep[3]'")
    return replace(found, jobs=(checked_task(found.jobs[0], task),))


def _agree(call: Call[StopOptions], jobs: Sequence[FoundJob]) -> None:
    """Show what would be stopped, and ask. Raises `UsageError` if the user cannot be asked."""
    names = [job.id if job.task is None else f"{job.id}[{job.task}]" for job in jobs]
    if not call.options.yes:
        for name, job in zip(names[:LISTED], jobs, strict=False):
            whose = job.job or job.spec
            call.output.note(f"  {name}  {whose.user}  {whose.project}  {state(job.known)}")
    more = f" and {len(jobs) - SHOWN} more" if len(jobs) > SHOWN else ""
    agree(call, f"stop {len(jobs)} job{'s' * (len(jobs) > 1)} ({', '.join(names[:SHOWN])}{more})?")
