"""What `bastion top` shows at one moment: who uses what of its share, the jobs, and why one is where it is. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bastion.plan import inputs, pool_of
from bastion.spec import JobSpec
from bastion.state import Attempt, Job, JobState
from bastion.usage import Use, usage
from launcher.derive import derived
from launcher.durations import short
from launcher.queue import Queue, run_s, where
from launcher.rows import ended_text
from launcher.selection import LIVE, state, submitted
from launcher.view import Known, View
from quota.model import Quota
from quota.resources import total

ROWS_MAX = 500
"""Nobody reads more, and drawing them takes time."""

ATTEMPTS_MAX = 20

_STATES = tuple(known for known in JobState if known in LIVE)
ORDERS: Mapping[str, Callable[[Known], Any]] = {
    "submitted": lambda known: submitted(known),
    "state": lambda known: (_STATES.index(state(known)), submitted(known)),
    "user": lambda known: (_spec(known).user, submitted(known)),
    "project": lambda known: (_spec(known).project, submitted(known)),
    "priority": lambda known: (_spec(known).priority, submitted(known)),
}
"""How the jobs may be sorted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Which jobs are wanted: with this text in them, sorted like this; and the id of one of which more is wanted."""

    text: str = ""
    order: str = "submitted"
    job: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One moment, ready to be drawn.

    `bastion` is what `bastion.status.summary` says. `uses` has what there is of the kind beside each. `more` jobs match
    and are not in `ids` and `cells`. `why` is of the job asked for, empty if it is not there.
    """

    asked: Asked
    bastion: Mapping[str, Any]
    counts: Mapping[str, int]
    uses: tuple[tuple[Use, int], ...]
    ids: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    more: int
    why: tuple[str, ...]


def board(view: View, asked: Asked, bastion: Mapping[str, Any]) -> Board:
    """The board of a view."""
    jobs: list[Known] = [*view.state.jobs.values(), *view.unread]
    live = [known for known in jobs if state(known) in LIVE]
    found = sorted((known for known in live if _holds(known, asked.text)), key=ORDERS[asked.order])
    shown = Queue(view, tuple(found[:ROWS_MAX]), derived(view))
    opened = next((known for known in jobs if known.id == asked.job), None)
    settings = inputs(view.state)
    pool = total(pool_of(view.state, settings))
    uses = usage(view.state, settings.quota or Quota.open())
    return Board(
        asked=asked,
        bastion=bastion,
        counts=Counter(state(known).value for known in live),
        uses=tuple((use, pool.get(use.kind, 0)) for use in uses),
        ids=tuple(known.id for known in shown.jobs),
        cells=tuple(shown.cells()),
        more=len(found) - len(shown.jobs),
        why=tuple(why(shown, opened)) if opened else (),
    )


def why(shown: Queue, known: Known) -> list[str]:
    """Why a job is where it is, and its attempts, the newest first."""
    row, now = shown.row(known), shown.view.now
    lines = [f"{row['id']} of {row['user']} in {row['project']}", f"{row['state']}{_colon(row['reason'])}"]
    lines.append(f"submitted {short((now - submitted(known)).total_seconds())} ago, priority {row['priority']}")
    if not isinstance(known, Job):
        return lines
    attempts = [(number, attempt) for number, task in known.tasks.items() for attempt in task.attempts]
    attempts.sort(key=lambda each: each[1].started, reverse=True)
    lines += [
        *[""][: len(attempts)],
        *(_attempt(known, number, attempt, now) for number, attempt in attempts[:ATTEMPTS_MAX]),
    ]
    if len(attempts) > ATTEMPTS_MAX:
        lines.append(f"and {len(attempts) - ATTEMPTS_MAX} older attempts")
    return [*lines, "", f"more: launch why {known.id}"]


def _attempt(job: Job, task: int, attempt: Attempt, now: datetime) -> str:
    which = f"task {task} attempt {attempt.number}" if job.count > 1 else f"attempt {attempt.number}"
    told = f"{attempt.state.value} for {short(run_s(attempt, now))} on {where(attempt)}"
    return f"{which}: {told}{_colon(ended_text(attempt))}"


def _colon(text: str) -> str:
    return f": {text}" if text else ""


def _spec(known: Known) -> Job | JobSpec:
    return known if isinstance(known, Job) else known.spec


def _holds(known: Known, text: str) -> bool:
    """True if each word of the text is found in the job's id, user, project or state."""
    spec = _spec(known)
    said = f"{known.id} {spec.user} {spec.project} {state(known)}".lower()
    return all(word in said for word in text.lower().split())
