"""The content of `bastion top` at one moment: usage of the shares, jobs, and the account of one job. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bastion.journal.control import why_paused
from bastion.model.durations import short
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import Job, JobState
from bastion.quota.quota import Quota
from bastion.schedule.plan import DecisionInputs, Plan, current_capacity, inputs
from bastion.schedule.usage import ProjectUsage, usage

from ..read.job_rows import QueueView, gap_lines
from ..read.pending_reasons import decided, reasons
from ..read.view import LIVE, Known, View, state, submitted
from . import explanation, explanation_text
from .explanation import Explanation
from .timing import timing
from .waiting import waiting
from .what_if_state import WhatIfCase, as_it_waits

ROWS_MAX = 500
"""Most jobs on the board. People read no more, and drawing takes time."""

_STATES = tuple(known for known in JobState if known in LIVE)
ORDERS: Mapping[str, Callable[[Known], Any]] = {
    "submitted": lambda known: submitted(known),
    "state": lambda known: (_STATES.index(state(known)), submitted(known)),
    "user": lambda known: (_spec(known).user, submitted(known)),
    "project": lambda known: (_spec(known).project, submitted(known)),
    "priority": lambda known: (_spec(known).priority, submitted(known)),
}
"""The orders of the jobs, by name: the key of each sort."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardOptions:
    """The options of the board.

    text: show jobs that contain each of these words; empty: all.
    order: a key of `ORDERS`.
    job: id of the job to explain; empty: none.
    """

    text: str = ""
    order: str = "submitted"
    job: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageBoard:
    """The content of the board at one moment, ready to be drawn.

    asked: options of this board.
    bastion: summary of the status, from `bastion.model.stored.status.summary`.
    problems: lines on what is wrong.
    counts: number of jobs in each live state.
    uses: usage of each project and kind, with the capacity of that kind.
    ids: ids of the jobs shown.
    cells: their lines, with the columns of the queue.
    more: number of further jobs that match.
    why: account of the job to explain; empty: it does not exist.
    """

    asked: BoardOptions
    bastion: Mapping[str, Any]
    problems: tuple[str, ...]
    counts: Mapping[str, int]
    uses: tuple[tuple[ProjectUsage, int], ...]
    ids: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    more: int
    why: tuple[str, ...]


def board(view: View, asked: BoardOptions, bastion: Mapping[str, Any]) -> UsageBoard:
    """Build the board of a view."""
    jobs: list[Known] = [*view.state.jobs.values(), *view.unread]
    live = [known for known in jobs if state(known) in LIVE]
    found = sorted((known for known in live if _holds(known, asked.text)), key=ORDERS[asked.order])
    answer, settings = decided(view), inputs(view.state)
    shown = QueueView(view, tuple(found[:ROWS_MAX]), reasons(view, answer))
    opened = next((known for known in jobs if known.id == asked.job), None)
    capacity = current_capacity(view.state, settings).total()
    uses = usage(view.state, settings.quota or Quota.open())
    return UsageBoard(
        asked=asked,
        bastion=bastion,
        problems=(*bastion["problems"], *gap_lines(view.gaps), *filter(None, [why_paused(view.state)])),
        counts=Counter(state(known).value for known in live),
        uses=tuple((use, capacity.get(use.kind, 0)) for use in uses),
        ids=tuple(known.id for known in shown.jobs),
        cells=tuple(shown.cells()),
        more=len(found) - len(shown.jobs),
        why=tuple(_why(shown, opened, answer, settings)) if opened else (),
    )


def _why(shown: QueueView, known: Known, answer: Plan, settings: DecisionInputs) -> Iterator[str]:
    """Yield the account of a job, as far as it needs no read of the bucket."""
    row, now = shown.row(known), shown.view.now
    yield f"{row['id']} of {row['user']} in {row['project']}"
    yield row["state"] + (f": {row['reason']}" if row["reason"] else "")
    yield f"submitted {short((now - submitted(known)).total_seconds())} ago, priority {row['priority']}"
    if isinstance(known, Job):
        waits = known.ended is None and known.counts.get(JobState.PENDING)
        case = as_it_waits(WhatIfCase(state=shown.view.state, inputs=settings, now=now), known.id) if waits else None
        told = Explanation(
            since=explanation.since(known),
            timing=timing(shown.view.state, known),
            waiting=waiting(case, case.state.jobs[known.id], answer) if case else None,
            running=tuple(
                explanation.running(known, one, key.task, None) for key, one in explanation.live(known, None)
            ),
            end=explanation.end(known, None),
        )
        yield from (f"{word:<10}{text}" for word, text in explanation_text.told(told, known.id, known.project, now))
        yield f"{'more':<10}launch why {known.id}"


def _spec(known: Known) -> Job | JobSpec:
    return known if isinstance(known, Job) else known.spec


def _holds(known: Known, text: str) -> bool:
    """Return True if each word of the text is in the job's id, user, project or state."""
    spec = _spec(known)
    said = f"{known.id} {spec.user} {spec.project} {state(known)}".lower()
    return all(word in said for word in text.lower().split())
