"""Wait for the end of a job: look until then, survive failures of the store, and report changes on the way."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from bastion.model.errors import AccessDenied, BucketError, BucketNotFound, JobNotFound
from bastion.model.interfaces import Clock

from . import exit_codes
from .job_lookup import FoundJob, find
from .job_rows import QueueView
from .pending_reasons import derived
from .reader import BastionReader
from .view import View

YOUNG_S, YOUNG_POLL_S, POLL_S = 60.0, 0.5, 2.0
TELL_S = 15.0


class EndWaiter:
    """A series of looks at one job, or at one of its tasks, with notes on it.

    A new state is noted at once. A new reason for the same state is noted at most every `TELL_S` seconds.
    """

    def __init__(self, reader: BastionReader, clock: Clock, found: FoundJob, note: Callable[[str], None]) -> None:
        self._reader, self._clock, self._found, self._note = reader, clock, found, note
        self._began = clock.monotonic()
        self._said, self._said_at = "", -inf
        self._problem = ""

    def look(self) -> View | None:
        """Return the present view; None, and one note, if the store does not answer. Raises `AccessDenied`, `BucketNotFound`."""
        try:
            return self._reader.look()
        except (AccessDenied, BucketNotFound):
            raise
        except BucketError as error:
            self.problem(str(error))
            return None

    def tell(self, view: View) -> None:
        """Note the state and the reason of the job, if they are new."""
        text, now = standing(self._found, view), self._clock.monotonic()
        same_state = text.partition(":")[0] == self._said.partition(":")[0]
        if text == self._said or (same_state and now - self._said_at < TELL_S):
            return
        self._note(f"{self._found.name} is {text}")
        self._said, self._said_at = text, now

    def problem(self, text: str) -> None:
        """Note what keeps us from reading, once."""
        if text != self._problem:
            self._note(f"{text}; retrying")
        self._problem = text

    def pause(self) -> None:
        """Sleep until the next look; shorter in the first `YOUNG_S` seconds."""
        young = self._clock.monotonic() - self._began < YOUNG_S
        self._clock.sleep(YOUNG_POLL_S if young else POLL_S)


def wait(waiter: EndWaiter, clock: Clock, found: FoundJob, *, timeout_s: float | None) -> int:
    """Look until the job, or the selected task, has ended. Return its exit code, or `NOT_ENDED` after `timeout_s`."""
    deadline = inf if timeout_s is None else clock.monotonic() + timeout_s
    while True:
        view = waiter.look()
        code = exit_codes.NOT_ENDED
        if view is not None:
            waiter.tell(view)
            code = code_now(found, view)
        if code != exit_codes.NOT_ENDED or clock.monotonic() >= deadline:
            return code
        waiter.pause()


def code_now(found: FoundJob, view: View) -> int:
    """Return the exit code of a job that was found before. It is `REJECTED` if its request made no job."""
    try:
        now = _now(found, view)
    except JobNotFound:
        return exit_codes.REJECTED
    return exit_codes.code(now.job, found.task) if now.job else exit_codes.NOT_ENDED


def standing(found: FoundJob, view: View) -> str:
    """Return the state of a job and its reason: `PENDING: no v4 is free`."""
    try:
        row = QueueView(view, (), derived(view)).row(_now(found, view).known)
    except JobNotFound:
        return "REJECTED: the bastion rejected its request"
    return f"{row['state']}: {row['reason']}" if row["reason"] else str(row["state"])


def _now(found: FoundJob, view: View) -> FoundJob:
    """Return the job as the view has it. An ended job is returned as it is, as it may have left the view."""
    return found if found.job and found.job.ended else find(found.id, view)
