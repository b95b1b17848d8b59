"""What happened to a job, event by event, as lines for people. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bastion.changes import in_words
from bastion.events import (
    AnyEvent,
    CancelRequested,
    Claimed,
    Ended,
    Exited,
    Gone,
    Held,
    JobRejected,
    JournalObject,
    OfAttempt,
    ReclaimDropped,
    Released,
    RequestRejected,
    Started,
    Stopping,
    Submitted,
    Topped,
    Updated,
    Voided,
)
from launcher.rows import Row, rfc3339


@dataclass(frozen=True, slots=True)
class Happening:
    """An event of one job: when, to what of it, and what."""

    at: datetime
    subject: str
    text: str

    def line(self) -> str:
        """`2026-01-31T09:30:00.250Z  task 0 attempt 1  begins on local`."""
        return f"{rfc3339(self.at)}  {self.subject}  {self.text}"

    def row(self) -> Row:
        """For scripts."""
        return {"time": rfc3339(self.at), "subject": self.subject, "text": self.text}


def history(records: Iterable[JournalObject], job: str, task: int | None = None) -> Iterator[Happening]:
    """The events of a job, or of one task of it, in the order of the journal."""
    for record in records:
        for event in record.events:
            if getattr(event, "job", "") != job or (
                task is not None and getattr(event, "task", None) not in (None, task)
            ):
                continue
            yield Happening(record.now, _subject(event), _TEXTS[type(event)](event))


def _subject(event: AnyEvent) -> str:
    return f"task {event.task} attempt {event.attempt}" if isinstance(event, OfAttempt) else "job"


def _cancel(event: CancelRequested) -> str:
    return f"stop asked for by {event.user}" + ("" if event.task is None else f", of task {event.task}")


def _exited(event: Exited) -> str:
    code = "" if event.exit_code is None else f", exit code {event.exit_code}"
    return f"worker {event.worker} ended: {event.cause}{code}{f': {event.message}' if event.message else ''}"


def _ended(event: Ended) -> str:
    return f"ended: {event.reason or event.cause}; the task is {event.outcome}"


_TEXTS: dict[type, Callable[[Any], str]] = {
    Submitted: lambda event: f"submitted by {event.spec.user} to {event.spec.project}",
    JobRejected: lambda event: f"rejected: {event.reason}",
    RequestRejected: lambda event: f"request of {event.user} refused: {event.reason}",
    CancelRequested: _cancel,
    Held: lambda event: f"held by {event.user}: nothing more of it starts",
    Released: lambda event: f"released by {event.user}: it is back in its place",
    Topped: lambda event: f"moved by {event.user} to the top of its user's pending jobs",
    Updated: lambda event: f"updated by {event.user}: {in_words(event.changes)}",
    Started: lambda event: f"begins on {event.runner}, tier {event.tier}, workers: {event.workers}",
    Claimed: lambda event: f"worker {event.worker} is up on {event.machine}",
    Voided: lambda event: f"worker {event.worker} never came and can never run",
    Exited: _exited,
    Gone: lambda event: f"the machine of worker {event.worker} is gone",
    Stopping: lambda event: f"stops by {rfc3339(event.deadline)}: {event.reason}",
    Ended: _ended,
    ReclaimDropped: lambda event: "what was freed for it is free for all again",
}
