"""`bastion replay`: take recorded decisions again, and check that each is the same, bit for bit.

The journal alone is read.
"""

from __future__ import annotations

from datetime import datetime

from bastion.journal import point_in_time, recover
from bastion.launcher.history.replay_report import ReplayReport
from bastion.launcher.read.job_rows import rfc3339
from bastion.model.durations import moment
from bastion.model.errors import BastionError, RecordError, UsageError
from bastion.model.stored.journal_object import Gaps
from bastion.model.version import VERSION
from bastion.schedule.replay import replayed

from ..common.command_context import CommandContext, context_of
from ..options.bastion import ReplayOptions
from ..terminal.main import DONE, FAILED, Call

_CHOICES = ("at", "seq", "since", "until", "all")


def run(call: Call[ReplayOptions]) -> int:
    """Print the report. Return 1 if a decision of this version came out different."""
    context = context_of(call)
    end = point_in_time.end(context.bucket)
    one = bool({"at", "seq"} & call.given)
    report = ReplayReport(version=VERSION, every=one)
    with call.output.progress("taking decisions again"):
        first, last = _which(call, context, end)
        _take(call, context, first, last, end, report)
    if one and report.first is None:
        raise BastionError(f"no decision is marked in journal object {first}; see bastion replay --at")
    if call.output.json:
        call.output.data({"schema": 1, **report.row(), "bastion": {"name": context.bastion}})
    else:
        call.output.say("\n".join(report.lines()))
    return DONE if report.proven else FAILED


def _take(
    call: Call[ReplayOptions], context: CommandContext, first: int, last: int, end: int, report: ReplayReport
) -> None:
    gaps = Gaps()
    state = point_in_time.state_below(context.bucket, first, context.tasks.map, gaps, call.output.note)
    if gaps.found:
        raise RecordError(f"the inputs of these decisions cannot be read: {gaps.found[0].problem}")
    for each in replayed(state, recover.objects(context.bucket, first, context.tasks.map, below=end), last):
        report.take(each, state)


def _which(call: Call[ReplayOptions], context: CommandContext, end: int) -> tuple[int, int]:
    """Return the first and the last journal object to replay. Raises `UsageError`."""
    options = call.options
    said = [name for name in _CHOICES if name in call.given]
    if len(said) > 1 and said != ["since", "until"]:
        raise UsageError(f"--{said[0]} and --{said[1]} exclude each other; leave one out")
    if options.all:
        return 0, end - 1
    if options.at:
        number = _decision_at(context, moment(options.at, context.clock.wall(), "--at"))
        return number, number
    if options.seq is None:
        return _window(call, context, end)
    if not 0 <= options.seq < end:
        raise UsageError(f"--seq is {options.seq}; the journal has the objects 0 to {end - 1}")
    return options.seq, options.seq


def _decision_at(context: CommandContext, at: datetime) -> int:
    number = point_in_time.number_after(context.bucket, at, context.tasks.map)
    found = point_in_time.decision_below(context.bucket, number, context.tasks.map)
    if found is None:
        raise BastionError(
            f"no decision is marked in the {point_in_time.LOOK_BACK:,} journal objects before {rfc3339(at)}"
        )
    return found


def _window(call: Call[ReplayOptions], context: CommandContext, end: int) -> tuple[int, int]:
    now, until = context.clock.wall(), call.options.until
    first = point_in_time.number_at(context.bucket, moment(call.options.since, now), context.tasks.map)
    if until is None:
        return first, end - 1
    return first, point_in_time.number_after(context.bucket, moment(until, now, "--until"), context.tasks.map) - 1
