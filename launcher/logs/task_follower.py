"""Follow what a task prints, attempt after attempt, until it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from bastion.model.errors import AccessDenied, BastionError, BucketError, BucketNotFound
from bastion.model.interfaces import AttemptKey, Bucket, Clock, Tasks
from bastion.model.state.state import ENDED, AttemptState, Task

from ..read import exit_codes
from ..read.job_lookup import FoundJob
from ..read.job_rows import ended_text
from ..read.reader import BastionReader
from ..read.view import View
from ..read.wait_for_end import EndWaiter, code_now
from .follower_notice import FollowerNotice
from .log_lines import LogSelection, LogStream, streams

POLL_S, QUIET_POLL_S, QUIET_S = 0.5, 0.8, 30.0
"""Seconds between two looks for output: while output comes, and after `QUIET_S` without any."""

READS_A_S = 20.0
"""Most log reads in one second. It slows down the looks at the logs of a large gang."""

LOOK_S, END_LOOK_S = 5.0, 0.5
"""Seconds between two looks at the journal: while a log may go on, and when only the journal's end is missing."""

END_MARKER_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowOutput:
    """The output of a follower.

    lines: function that prints lines of the log.
    note: function that prints a note about the job.
    """

    lines: Callable[[list[str]], None]
    note: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowContext:
    """The interfaces that a follower needs.

    bucket: the bucket.
    clock: the clock.
    tasks: parallel execution.
    reader: reader of the bastion.
    """

    bucket: Bucket
    clock: Clock
    tasks: Tasks
    reader: BastionReader


def snapshot(context: FollowContext, found: FoundJob, task: int, choice: LogSelection, screen: FollowOutput) -> int:
    """Print what the log of one attempt holds now, and return at once with the exit code of the task.

    Raises `BastionError` if the chosen attempt does not exist.
    """
    view = context.reader.look()
    begun = _task(found, task, view)
    number = _number(begun, choice, found)
    if begun and number < len(begun.attempts):
        key = AttemptKey(found.id, task, number)
        for stream in streams(context.bucket, key, len(begun.attempts[number].workers), choice):
            for lines in stream.stored(context.tasks):
                screen.lines(lines)
            screen.lines(stream.close())
    return code_now(replace(found, task=task), view)


def follow(context: FollowContext, found: FoundJob, task: int, choice: LogSelection, screen: FollowOutput) -> int:
    """Print what the task prints until it has ended. Return its exit code.

    If the choice names an attempt, stop at the end of that attempt. Raises `BastionError` if it does not exist.
    """
    found = replace(found, task=task)
    waiter = EndWaiter(context.reader, context.clock, found, screen.note)
    number = _number(_task(found, task, context.reader.look()), choice, found)
    while True:
        view = _begun(waiter, found, task, number)
        begun = _task(found, task, view)
        if begun is None or number >= len(begun.attempts):
            return code_now(found, view)
        key = AttemptKey(found.id, task, number)
        logs = streams(context.bucket, key, len(begun.attempts[number].workers), choice)
        view = _Follower(context, waiter, key, logs, screen).run()
        if choice.attempt is not None or _was_last(_task(found, task, view), number):
            return code_now(found, view)
        screen.lines([_separator(view, key)])
        number += 1
        choice = replace(choice, tail=None, since=None)


def _begun(waiter: EndWaiter, found: FoundJob, task: int, number: int) -> View:
    """Look until this attempt exists or never will, and note what it waits for."""
    while True:
        view = waiter.look()
        if view is not None:
            begun = _task(found, task, view)
            if (begun and number < len(begun.attempts)) or code_now(found, view) != exit_codes.NOT_ENDED:
                return view
            waiter.tell(view)
        waiter.pause()


class _Follower:
    """A loop that follows one attempt of a task to its end. Mutable."""

    def __init__(
        self, context: FollowContext, waiter: EndWaiter, key: AttemptKey, logs: list[LogStream], screen: FollowOutput
    ) -> None:
        self._bucket, self._clock, self._tasks = context.bucket, context.clock, context.tasks
        self._waiter, self._key, self._logs, self._screen = waiter, key, logs, screen
        self._watching = FollowerNotice(context.bucket, context.clock, key.job, key.task)
        self._unheard = ""
        self._looked = -inf
        self._printed = context.clock.monotonic()
        self._over: float | None = None

    def run(self) -> View:
        """Print until the attempt has ended and its logs are complete, or `END_MARKER_S` have passed since its end.

        Return the last view.
        """
        view = None
        while True:
            began = self._clock.monotonic()
            self._watch()
            self._print()
            if began - self._looked >= (END_LOOK_S if all(log.ended for log in self._logs) else LOOK_S):
                view, self._looked = self._waiter.look(), began
            if view is not None and self._is_done(view):
                for log in self._logs:
                    self._screen.lines(log.close())
                return view
            self._clock.sleep(began + self._pause() - self._clock.monotonic())

    def _pause(self) -> float:
        """Return the seconds from the beginning of one turn to that of the next."""
        quiet = self._clock.monotonic() - self._printed >= QUIET_S
        return max(QUIET_POLL_S if quiet else POLL_S, len(self._logs) / READS_A_S)

    def _is_done(self, view: View) -> bool:
        attempt = view.state.attempt(self._key)
        if attempt is not None and attempt.state is not AttemptState.ENDED:
            return False
        self._over = self._over if self._over is not None else self._clock.monotonic()
        silent = {n for n, worker in enumerate(attempt.workers) if worker.voided} if attempt else set()
        # A worker that never ran writes no log, so its end marker is not waited for.
        complete = all(log.ended or log.worker in silent for log in self._logs)
        return complete or self._clock.monotonic() - self._over >= END_MARKER_S

    def _print(self) -> None:
        try:
            for log in self._logs:
                for lines in log.more(self._tasks):
                    self._screen.lines(lines)
                    self._printed = self._clock.monotonic()
        except (AccessDenied, BucketNotFound):
            raise
        except BucketError as error:
            self._waiter.problem(str(error))

    def _watch(self) -> None:
        """Notify the workers that their log is followed, so that they upload fast.

        A follower without the right to write sees the output a little later.
        """
        try:
            self._watching.renew()
        except BucketError as error:
            if str(error) != self._unheard:
                self._screen.note(f"the workers cannot be asked to upload sooner, so the log may lag: {error}")
            self._unheard = str(error)


def _was_last(task: Task | None, number: int) -> bool:
    """Return True if no attempt follows this one."""
    return task is None or (task.state in ENDED and number + 1 >= len(task.attempts))


def _task(found: FoundJob, task: int, view: View) -> Task | None:
    job = view.state.jobs.get(found.id)
    return job.tasks.get(task) if job else None


def _number(begun: Task | None, choice: LogSelection, found: FoundJob) -> int:
    """Return the chosen attempt, or else the newest. Raises `BastionError` if the chosen one does not exist."""
    count = len(begun.attempts) if begun else 0
    if choice.attempt is None:
        return max(0, count - 1)
    if not 0 <= choice.attempt < count:
        raise BastionError(f"{found.name} has no attempt {choice.attempt}; it has had {count}, numbered from 0")
    return choice.attempt


def _separator(view: View, key: AttemptKey) -> str:
    attempt = view.state.attempt(key)
    ended = (attempt and ended_text(attempt)) or "done"
    return f"--- attempt {key.attempt} ended: {ended}; attempt {key.attempt + 1} follows ---"
