"""`launch logs`: print a job's output, or what the bastion did for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from bastion.launcher.history.job_history import history
from bastion.launcher.logs import array_logs
from bastion.launcher.logs.log_lines import LogSelection, bastion_lines, pattern, worker_list
from bastion.launcher.logs.task_follower import FollowContext, FollowOutput, follow, snapshot
from bastion.launcher.read import exit_codes
from bastion.launcher.read.job_lookup import FoundJob, one_task
from bastion.launcher.read.job_rows import gap_lines
from bastion.launcher.read.past_jobs import records
from bastion.launcher.read.view import View
from bastion.launcher.read.wait_for_end import code_now, standing
from bastion.model.durations import moment
from bastion.model.errors import UsageError
from bastion.model.stored.journal_object import Gaps

from ..common.command_context import CommandContext, context_of
from ..common.job_choice import job_of
from ..options.launch import LogsOptions
from ..terminal.main import Call
from ..terminal.output import Output

TAIL = 1_000


def run(call: Call[LogsOptions]) -> int:
    """Print a log. Return the exit code of the job's end."""
    choice = _choice(call, context := context_of(call))
    view = context.reader().look()
    found = job_of(call, context, view)
    if call.options.provisioning:
        return _provisioning(call, context, found, view)
    with detachable(call.output, name=found.id):
        return show_log(call.output, context, found, choice, goes_on=call.options.follow, failed=call.options.failed)


def show_log(
    output: Output,
    context: CommandContext,
    found: FoundJob,
    choice: LogSelection,
    *,
    goes_on: bool = True,
    failed: bool = False,
) -> int:
    """Print the output of a job, of an array that of the `failed` tasks only. With `goes_on`, follow a live job.

    Return the exit code of the job's end.
    """
    following = FollowContext(bucket=context.bucket, clock=context.clock, tasks=context.tasks, reader=context.reader())
    screen = FollowOutput(lines=output.log, note=output.note)
    if found.count > 1 and found.task is None:
        # With `failed` nothing is followed: a failed task prints nothing more.
        if goes_on and not failed and _is_live(found, None):
            code = array_logs.follow(following, found, choice, screen)
        else:
            code = array_logs.snapshot(following, found, choice, screen, failed=failed)
        output.note(f"{found.id} is {standing(found, context.reader().look())}")
        return code
    if failed:
        raise UsageError(f"--failed needs an array; {found.name} is one task")
    task = one_task(found)
    show = follow if goes_on and _is_live(found, task) else snapshot
    code = show(following, found, task, choice, screen)
    output.note(f"{found.id} is {standing(replace(found, task=task), context.reader().look())}")
    return code


def _is_live(found: FoundJob, task: int | None) -> bool:
    return found.job is None or not exit_codes.ended(found.job, task)


@contextmanager
def detachable(output: Output, *, name: str) -> Iterator[None]:
    """Ctrl-C ends only the looking, never the job. Print how to come back, and how to end the job."""
    try:
        yield
    except KeyboardInterrupt:
        output.note(
            f"detached; the job keeps running. To look again: launch logs {name}   To end it: launch stop {name}"
        )
        raise


def _choice(call: Call[LogsOptions], context: CommandContext) -> LogSelection:
    options = call.options
    tail = options.tail
    if tail is None and call.output.width and not (options.since or options.grep):
        call.output.note(f"showing the last {TAIL} lines at most; --tail=N shows more")
        tail = TAIL
    return LogSelection(
        tail=tail,
        since=moment(options.since, context.clock.wall()) if options.since else None,
        workers=worker_list(options.worker) if options.worker else None,
        attempt=options.attempt,
        grep=pattern(options.grep) if options.grep else None,
    )


def _provisioning(call: Call[LogsOptions], context: CommandContext, found: FoundJob, view: View) -> int:
    """Print the bastion's side of a job.

    These are the events of the journal, then the lines of the bastion's own log that name the job.
    """
    if found.job:
        gaps = Gaps(list(view.gaps))
        told = records(context.bucket, context.tasks, view, found, gaps)
        call.output.log([event.line() for event in history(told, found.id, found.task)])
        call.output.log(gap_lines(gaps.found))
        for lines in bastion_lines(context.bucket, context.tasks, found.id, since=found.job.submitted):
            call.output.log(lines)
    call.output.note(f"{found.id} is {standing(found, view)}")
    return code_now(found, view)
