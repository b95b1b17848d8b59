"""`launch wait`: wait for a job's end."""

from __future__ import annotations

from bastion.launcher.read.job_lookup import FoundJob
from bastion.launcher.read.wait_for_end import EndWaiter, wait

from ..common.command_context import CommandContext, context_of
from ..common.job_choice import job_of
from ..options.launch import WaitOptions
from ..terminal.main import Call
from ..terminal.output import Output


def run(call: Call[WaitOptions]) -> int:
    """Wait, and return the exit code of the job's end."""
    context = context_of(call)
    found = job_of(call, context, context.reader().look())
    code = until_end(context, found, call.output, call.options.timeout)
    if call.output.json:
        call.output.data({"id": found.id, "name": found.name, "exit_code": code})
    return code


def until_end(context: CommandContext, found: FoundJob, output: Output, timeout_s: float | None = None) -> int:
    """Wait for the end of a job, or of the task that is named, and print its progress on standard error."""
    waiter = EndWaiter(context.reader(), context.clock, found, output.note)
    return wait(waiter, context.clock, found, timeout_s=timeout_s)
