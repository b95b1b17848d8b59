"""The history of a job, event by event, as lines for people. Pure.

The events of the job are applied to a state on the way. That shows the states before and after each event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bastion.journal.fold import apply, concerned
from bastion.model.errors import IllegalMove
from bastion.model.job.spec_changes import in_words
from bastion.model.state.state import State
from bastion.model.stored.events import (
    AnyEvent,
    AttemptEvent,
    AttemptLost,
    CancelRequested,
    Claimed,
    Ended,
    Exited,
    Gone,
    Held,
    ImageBuilt,
    JobRejected,
    Lapsed,
    Moved,
    ReclaimDropped,
    Released,
    RequestRejected,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
    Waiting,
)
from bastion.model.stored.journal_object import JournalObject
from bastion.quota import resources

from ..read.job_rows import Row, rfc3339

LATE = timedelta(seconds=30)
"""Delay of a report that counts as late: the bastion usually learns of an event sooner."""

HEADS = ("TIME", "BY", "OF", "CHANGE", "WHAT")


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One event of a job.

    at: time of the journal object.
    seq: number of the journal object.
    kind: type of the event.
    actor: user, worker, runner or bastion that caused it.
    job: id of the job.
    own: it happened to this job; False: to another one, for the sake of this job.
    task: number of the task; None: the whole job.
    attempt: number of the attempt; None: the event concerns no attempt of this job.
    before: state of the task, or else of the job, before the event; empty: unknown.
    after: the same after the event; empty: unknown.
    text: what happened, in words.
    """

    at: datetime
    seq: int
    kind: str
    actor: str
    job: str
    own: bool
    task: int | None
    attempt: int | None
    before: str
    after: str
    text: str

    @property
    def subject(self) -> str:
        """The part of the job that the event is about."""
        return "job" if self.attempt is None else f"task {self.task} attempt {self.attempt}"

    @property
    def change(self) -> str:
        """The change of state, `RUNNING -> PENDING`; empty if the state stayed."""
        if self.before == self.after:
            return ""
        return f"{self.before} -> {self.after}" if self.before else self.after

    def cells(self) -> tuple[str, ...]:
        """Return a line of the table, with the columns of `HEADS`."""
        return str(rfc3339(self.at)), self.actor, self.subject, self.change, self.text

    def line(self) -> str:
        """Return a line for people.

        Example: `2026-01-31T09:30:00.250Z  bastion/1  task 0 attempt 1  PENDING -> PROVISIONING  begins on local`.
        """
        return "  ".join(cell for cell in self.cells() if cell)

    def row(self) -> Row:
        """Return a row for scripts."""
        return {
            "time": rfc3339(self.at),
            "seq": self.seq,
            "event": self.kind,
            "actor": self.actor,
            "task": self.task,
            "attempt": self.attempt,
            "from": self.before or None,
            "to": self.after or None,
            "subject": self.subject,
            "text": self.text,
        }


def history(records: Iterable[JournalObject], job: str, task: int | None = None) -> Iterator[HistoryEntry]:
    """Yield the events of a job, or of one of its tasks, in the order of the journal."""
    known = State()
    for record in records:
        known.now = record.now
        for index, event in enumerate(record.events):
            if job not in concerned(event):
                continue
            told = happening(known, record, index, event, job)
            if task is None or getattr(event, "task", None) in (None, task) or getattr(event, "job", "") != job:
                yield told


def happening(known: State, record: JournalObject, index: int, event: AnyEvent, job: str) -> HistoryEntry:
    """Describe an event from the view of a job, and apply it to `known`, whose time must be that of the record."""
    own = getattr(event, "job", "") == job
    task = getattr(event, "task", None) if own else None
    before, after = _led(known, record, index, event, job, task) if own else ("", "")
    return HistoryEntry(
        at=record.now,
        seq=record.seq,
        kind=type(event).__name__,
        actor=_actor(known, record, event),
        job=job,
        own=own,
        task=task,
        attempt=event.attempt if own and isinstance(event, AttemptEvent) else None,
        before=before,
        after=after,
        text=_text(known, event) + _earlier(known, record, event)
        if own
        else f"{event.job} stops for it: {event.reason}",  # type: ignore[union-attr]
    )


def _text(known: State, event: AnyEvent) -> str:
    """Say what happened. A machine that is gone is no news once its worker's process has ended."""
    attempt = known.attempt(event.key) if isinstance(event, Gone) else None
    if isinstance(event, Gone) and attempt and attempt.workers[event.worker].cause is not None:
        return f"worker {event.worker} has exited"
    return WORDS[type(event)](event)


def _earlier(known: State, record: JournalObject, event: AnyEvent) -> str:
    """Return when it really happened, as the end of a sentence, if the bastion learned of it late. Else empty."""
    at: datetime | None = None
    if isinstance(event, Submitted | JobRejected):
        at = event.at
    elif isinstance(event, Exited):
        at = event.ended
    elif isinstance(event, Ended) and (attempt := known.attempt(event.key)):
        at = attempt.finished
    return f"; this happened at {rfc3339(at)}, and was recorded only now" if at and record.now - at > LATE else ""


def _led(
    known: State, record: JournalObject, index: int, event: AnyEvent, job: str, task: int | None
) -> tuple[str, str]:
    """Apply the event. Return the states before and after it, as far as they are known."""
    before = _state(known, job, task)
    try:
        apply(known, event, record.seq, index)
    except IllegalMove:  # an event before it lies in a gap of the journal
        return "", "PROVISIONING" if isinstance(event, Started) else str(getattr(event, "outcome", ""))
    return before, _state(known, job, task)


def _state(known: State, job: str, task: int | None) -> str:
    found = known.jobs.get(job)
    if found is None:
        return ""
    return str(found.state if task is None else found.task_state(task))


def _actor(known: State, record: JournalObject, event: AnyEvent) -> str:
    """Return the cause of an event: a user, a worker, a runner, or the bastion of that epoch."""
    if isinstance(event, Submitted):
        return event.spec.user
    if isinstance(event, Claimed | Exited):
        return f"worker {event.worker}"
    if isinstance(event, Gone):
        attempt = known.attempt(event.key)
        return f"runner {attempt.runner}" if attempt else "runner"
    if isinstance(event, JobRejected | RequestRejected):
        return f"bastion/{record.epoch}"
    return getattr(event, "user", "") or f"bastion/{record.epoch}"


def _submitted(event: Submitted) -> str:
    spec = event.spec
    each = f"{spec.replicas}x{resources.text(spec.resources)}" if spec.replicas > 1 else resources.text(spec.resources)
    tasks = f", {spec.count} tasks" if spec.count > 1 else ""
    others = "".join(f" or {each.replicas}x{resources.text(each.resources)}" for each in spec.alternatives)
    return f"submitted to {spec.project}: {each}{others}{tasks}, priority {spec.priority}"


def _cancel(event: CancelRequested) -> str:
    return "stop requested" + ("" if event.task is None else f", of task {event.task}")


def _started(event: Started) -> str:
    workers = f", {event.workers} workers" if event.workers > 1 else ""
    choice = f", choice {event.choice + 1}" if event.choice else ""
    return f"begins on {event.runner}, tier {event.tier}{workers}{choice}"


def _claimed(event: Claimed) -> str:
    return f"is up on {event.machine}" + (f", {event.address}" if event.address else "")


def _exited(event: Exited) -> str:
    code = "" if event.exit_code is None else f", exit code {event.exit_code}"
    return f"its process ended: {event.cause}{code}{f': {event.message}' if event.message else ''}"


def _ended(event: Ended) -> str:
    return f"ended: {event.reason or event.cause}" + (
        f"; again from {rfc3339(event.ready_at)}" if event.ready_at else ""
    )


WORDS: dict[type, Callable[[Any], str]] = {
    Submitted: _submitted,
    JobRejected: lambda event: f"rejected: {event.reason}",
    RequestRejected: lambda event: f"request of {event.user} refused: {event.reason}",
    CancelRequested: _cancel,
    Started: _started,
    Moved: lambda event: f"counts as use of tier {event.tier} from now on, and runs on",
    Claimed: _claimed,
    Held: lambda event: "held: no more of it starts",
    Released: lambda event: "released: it is back in its place",
    Topped: lambda event: "moved to the top of its user's pending jobs",
    Updated: lambda event: f"updated: {in_words(event.changes)}",
    ImageBuilt: lambda event: f"its image is built: sha256:{event.digest[:12]}",
    Waiting: lambda event: event.reason or "its machines are there; waiting for its workers",
    Voided: lambda event: f"worker {event.worker} did not come up and can never run",
    Exited: _exited,
    Gone: lambda event: f"the machine of worker {event.worker} is gone",
    Stopping: lambda event: f"stops by {rfc3339(event.deadline)}: {event.reason}",
    Ended: _ended,
    AttemptLost: lambda event: event.reason,
    Lapsed: lambda event: f"its waiting tasks end as {event.outcome}: {event.reason}",
    ReclaimDropped: lambda event: "the resources that were freed for it are free for all again",
}
"""The words for each type of event that has a job."""
