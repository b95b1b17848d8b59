"""Find the job that a command line names."""

from __future__ import annotations

from bastion.launcher.read.job_lookup import FoundJob
from bastion.launcher.read.past_jobs import look_up
from bastion.launcher.read.view import View

from ..terminal.flags import Options
from ..terminal.main import Call
from .command_context import CommandContext


def job_of(call: Call[Options], context: CommandContext, view: View) -> FoundJob:
    """Return the job that the command's word names, also one that has left the bastion's state long ago."""
    return look_up(call.words[0], view, context.bucket, context.tasks, task=call.options.values.get("task"))
