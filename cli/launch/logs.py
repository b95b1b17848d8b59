"""`launch logs`: print a job's output, or what the bastion did for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from bastion.launcher.history.job_history import history
from bastion.launcher.logs import array_logs
from bastion.launcher.logs.log_lines import Choice, bastion_lines, pattern, worker_list
from bastion.launcher.logs.task_follower import FollowContext, Screen, follow, snapshot
from bastion.launcher.moments import moment
from bastion.launcher.read import exit_codes, gap_lines
from bastion.launcher.read.job_lookup import FoundJob, one_task
from bastion.launcher.read.past_jobs import records
from bastion.launcher.read.view import View
from bastion.launcher.read.wait_for_end import code_now, standing
from bastion.model.errors import UsageError
from bastion.model.stored.gaps import Holes

from ..common.command_context import CommandContext, desk_of, job_of
from ..terminal.main import Call
from ..terminal.output import Output

TAIL = 1_000


def run(call: Call) -> int:
    """Print a log. Return the exit code of the job's end."""
    choice = _choice(call, desk := desk_of(call))
    view = desk.reader().look()
    found = job_of(call, desk, view)
    if call.flags["provisioning"]:
        return _provisioning(call, desk, found, view)
    with detachable(call.output, name=found.id):
        return show_log(call, desk, found, choice)


def show_log(call: Call, desk: CommandContext, found: FoundJob, choice: Choice) -> int:
    """Print the output of a job. Of a live job, follow it to its end, unless --no_follow is set.

    Return the exit code of the job's end.
    """
    doors = FollowContext(bucket=desk.bucket, clock=desk.clock, tasks=desk.tasks, reader=desk.reader())
    screen = Screen(lines=call.output.log, note=call.output.note)
    failed = call.flags.get("failed", False)
    if found.count > 1 and found.task is None:
        return _show_array(call, desk, doors, found, choice, screen)
    if failed:
        raise UsageError(f"--failed goes with an array; {found.name} is one task")
    task = one_task(found)
    live = found.job is None or not exit_codes.ended(found.job, task)
    show = follow if live and call.flags["follow"] else snapshot
    code = show(doors, found, task, choice, screen)
    view = desk.reader().look()
    call.output.note(f"{found.id} is {standing(replace(found, task=task), view)}")
    return code


def _show_array(
    call: Call, desk: CommandContext, doors: FollowContext, found: FoundJob, choice: Choice, screen: Screen
) -> int:
    """Do the same for all tasks of an array. With --failed nothing is followed: a failed task prints nothing more."""
    failed = call.flags.get("failed", False)
    live = found.job is None or not exit_codes.ended(found.job, None)
    if live and call.flags["follow"] and not failed:
        code = array_logs.follow(doors, found, choice, screen)
    else:
        code = array_logs.snapshot(doors, found, choice, screen, failed=failed)
    call.output.note(f"{found.id} is {standing(found, desk.reader().look())}")
    return code


@contextmanager
def detachable(output: Output, *, name: str) -> Iterator[None]:
    """Ctrl-C ends only the looking, never the job. Print how to come back, and how to end the job."""
    try:
        yield
    except KeyboardInterrupt:
        output.note(f"detached; the job goes on. To look again: launch logs {name}   To end it: launch stop {name}")
        raise


def _choice(call: Call, desk: CommandContext) -> Choice:
    flags = call.flags
    tail = flags["tail"]
    if tail is not None and tail < 0:
        raise UsageError(f"--tail is {tail}; use 0 or more")
    if tail is None and call.output.width and not (flags["since"] or flags["grep"]):
        call.output.note(f"showing the last {TAIL} lines at most; --tail=N shows more")
        tail = TAIL
    return Choice(
        tail=tail,
        since=moment(flags["since"], desk.clock.wall()) if flags["since"] else None,
        workers=worker_list(flags["worker"]) if flags["worker"] else None,
        attempt=flags["attempt"],
        grep=pattern(flags["grep"]) if flags["grep"] else None,
    )


def _provisioning(call: Call, desk: CommandContext, found: FoundJob, view: View) -> int:
    """Print the bastion's side of a job.

    These are the events of the journal, then the lines of the bastion's own log that name the job.
    """
    if found.job:
        holes = Holes(list(view.holes))
        told = records(desk.bucket, desk.tasks, view, found, holes)
        call.output.log([event.line() for event in history(told, found.id, found.task)])
        call.output.log(gap_lines.lines(holes.found))
        for lines in bastion_lines(desk.bucket, desk.tasks, found.id, since=found.job.submitted):
            call.output.log(lines)
    call.output.note(f"{found.id} is {standing(found, view)}")
    return code_now(found, view)
