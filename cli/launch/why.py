"""`launch why`: explain a job's state, and show its latest events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bastion.launcher.explain import explanation as account
from bastion.launcher.explain import explanation_text
from bastion.launcher.explain.ahead import Prospects, prospects
from bastion.launcher.explain.explanation import Explanation
from bastion.launcher.explain.gpu_lines import GpuLine, gpus_in
from bastion.launcher.explain.preemptions import stopped
from bastion.launcher.explain.timing import timing
from bastion.launcher.explain.worker_facts import WorkerReport, facts_of, pulses
from bastion.launcher.history.job_history import HEADS, HistoryEntry, history
from bastion.launcher.read.as_of import as_of_view, job_then
from bastion.launcher.read.job_lookup import FoundJob
from bastion.launcher.read.job_rows import QueueView, Row, gap_lines, gap_rows, rfc3339, sign_of_life
from bastion.launcher.read.past_jobs import records
from bastion.launcher.read.view import View, tick_age_s
from bastion.model.durations import moment, short
from bastion.model.stored.journal_object import Gaps

from ..common.command_context import CommandContext, context_of
from ..common.job_choice import job_of
from ..options.launch import WhyOptions
from ..terminal.main import DONE, Call
from ..terminal.table import plain, table

OBJECTS_MAX = 64
"""The most journal objects of one job that are read. Of a job with more, the first and the newest are read."""

EVENTS_SHOWN = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyFound:
    """Everything that `launch why` shows of a job.

    view: the state of the bastion, now or at --at.
    found: the job, and the task if one is named.
    row: its row of `launch ls`.
    account: the explanation; None for a job that is not in the state.
    gpus: the GPUs that it uses now.
    events: its events, the oldest first.
    gaps: the gaps in the journal.
    """

    view: View
    found: FoundJob
    row: Row
    account: Explanation | None
    gpus: list[GpuLine]
    events: list[HistoryEntry]
    gaps: Gaps


def run(call: Call[WhyOptions]) -> int:
    """Print the explanation of a job, or of one task of it."""
    context = context_of(call)
    at = moment(call.options.at, context.clock.wall(), "--at") if call.options.at else None
    why = _find_out(call, context, at)
    if call.output.json:
        age = tick_age_s(why.view.status, why.view.now)
        events = [event.row() for event in why.events]
        shown = {"schema": 1, "job": why.row, **(why.account.row() if why.account else {}), "events": events}
        shown["gpus"] = [gpu.row() for gpu in why.gpus]
        bastion = {"name": context.bastion, "last_tick_age_s": age}
        call.output.data({**shown, "at": rfc3339(at), "bastion": bastion, **gap_rows(why.gaps.found)})
    else:
        told = f"as known at {rfc3339(at)}" if at else sign_of_life(why.view)
        foot = f"bastion {context.bastion}: {told}."
        call.output.say("\n".join([*_page(why), *gap_lines(why.gaps.found), foot]))
    return DONE


def _find_out(call: Call[WhyOptions], context: CommandContext, at: datetime | None) -> WhyFound:
    view, found = _seen(call, context, at)
    gaps = Gaps(list(view.gaps))
    told = records(context.bucket, context.tasks, view, found, gaps, most=OBJECTS_MAX)
    events = list(history(told, found.id, found.task))
    job = found.job
    ahead = prospects(view, job) if job is not None else Prospects()
    row = QueueView(view, (), ahead.reasons).row(found.known)
    if job is None:
        return WhyFound(view=view, found=found, row=row, account=None, gpus=[], events=events, gaps=gaps)
    facts = None if at else facts_of(context.bucket, context.tasks, job, found.task)
    return WhyFound(
        view=view,
        found=found,
        row=row,
        account=_account(context, view, found, ahead, facts),
        gpus=gpus_in(facts or []),
        events=events,
        gaps=gaps,
    )


def _seen(call: Call[WhyOptions], context: CommandContext, at: datetime | None) -> tuple[View, FoundJob]:
    """Return the state of the bastion now, or at that time, and the job in it."""
    today = context.reader().look
    if at is None:
        view = today()
        return view, job_of(call, context, view)
    with call.output.progress("reading the journal"):
        then = as_of_view(context.bucket, context.tasks, at, context.clock.wall(), call.output.note)
    return then, job_then(call.words[0], then, context.bucket, context.tasks, today, call.options.task)


def _account(
    context: CommandContext, view: View, found: FoundJob, ahead: Prospects, facts: Sequence[WorkerReport] | None
) -> Explanation:
    """Explain the job.

    `facts` None: the moment is in the past, and the workers' reports of that time are not stored.
    """
    job, task = found.job, found.task
    assert job is not None
    live = account.live(job, task)
    said = {} if facts is None else pulses(context.bucket, context.tasks, [key for key, _ in live], facts)
    return Explanation(
        since=account.since(job),
        timing=timing(view.state, job),
        waiting=ahead.waiting,
        running=tuple(account.running(job, attempt, key.task, said.get(key)) for key, attempt in live),
        end=account.end(job, task),
        stops=tuple(stopped(view.state, job, task)),
        exposure=ahead.exposure,
    )


def _page(why: WhyFound) -> list[str]:
    row, found = why.row, why.found
    age = f" for {short((why.view.now - why.account.since).total_seconds())}" if why.account else ""
    reason = f": {row['reason']}" if row["reason"] else ""
    lines = [plain(f"{found.id} of {found.user} in {row['project']} is {row['state']}{age}{reason}")]
    if why.account:
        name = f"'{found.id}[{found.task}]'" if found.task is not None else found.id
        lines += [
            f"{word:<10}{plain(text)}"
            for word, text in explanation_text.told(why.account, name, row["project"], why.view.now)
        ]
    lines += [f"{'gpu':<10}{plain(gpu.line())}" for gpu in why.gpus]
    if why.events:
        _, *shown = table(HEADS, [event.cells() for event in why.events[-EVENTS_SHOWN:]])
        lines += ["", *shown, f"all of it: launch history {found.id}"]
    return lines
