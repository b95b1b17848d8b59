"""Following what a task prints, attempt after attempt, to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf

from bastion import layout
from bastion.errors import BastionError, BucketError, Denied, NoBucket
from bastion.ports import AttemptKey, Bucket, Clock, Tasks
from bastion.state import ENDED, AttemptState, Task
from launcher import ends
from launcher.find import Found
from launcher.reader import Reader
from launcher.rows import ended_text
from launcher.streams import Choice, Stream, streams
from launcher.view import View
from launcher.wait import Waiter, code_now

POLL_S = 0.5
LOOK_S = 2.0
WATCH_S = 30.0
END_MARKER_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Where things go: `lines` of the log, and `note`s about the job."""

    lines: Callable[[list[str]], None]
    note: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doors:
    """What following needs of the world."""

    bucket: Bucket
    clock: Clock
    tasks: Tasks
    reader: Reader


def snapshot(doors: Doors, found: Found, task: int, choice: Choice, screen: Screen) -> int:
    """Print what is there now of one attempt, and return at once with the job's exit code."""
    view = doors.reader.look()
    begun = _task(found, task, view)
    number = _number(begun, choice, found)
    if begun and number < len(begun.attempts):
        key = AttemptKey(found.id, task, number)
        for stream in streams(doors.bucket, key, len(begun.attempts[number].workers), choice):
            for lines in stream.stored(doors.tasks):
                screen.lines(lines)
            screen.lines(stream.close())
    return code_now(replace(found, task=task), view)


def follow(doors: Doors, found: Found, task: int, choice: Choice, screen: Screen) -> int:
    """Print what the task prints until it has ended. Its exit code."""
    found = replace(found, task=task)
    waiter = Waiter(doors.reader, doors.clock, found, screen.note)
    number = _number(_task(found, task, doors.reader.look()), choice, found)
    while True:
        view = _begun(waiter, found, task, number)
        begun = _task(found, task, view)
        if begun is None or number >= len(begun.attempts):
            return code_now(found, view)
        key = AttemptKey(found.id, task, number)
        logs = streams(doors.bucket, key, len(begun.attempts[number].workers), choice)
        view = _Follower(doors, waiter, key, logs, screen).run()
        if choice.attempt is not None or _was_last(_task(found, task, view), number):
            return code_now(found, view)
        screen.lines([_separator(view, key)])
        number += 1
        choice = replace(choice, tail=None, since=None)


def _begun(waiter: Waiter, found: Found, task: int, number: int) -> View:
    """Look until this attempt is there, or will never be; say what it waits for."""
    while True:
        view = waiter.look()
        if view is not None:
            begun = _task(found, task, view)
            if (begun and number < len(begun.attempts)) or code_now(found, view) != ends.NOT_ENDED:
                return view
            waiter.tell(view)
        waiter.pause()


class _Follower:
    """Follows one attempt of a task to its end."""

    def __init__(self, doors: Doors, waiter: Waiter, key: AttemptKey, logs: list[Stream], screen: Screen) -> None:
        self._bucket, self._clock, self._tasks = doors.bucket, doors.clock, doors.tasks
        self._waiter, self._key, self._logs, self._screen = waiter, key, logs, screen
        self._watched = self._looked = -inf
        self._over: float | None = None

    def run(self) -> View:
        """Print until every log has ended, or the journal says so and no more has come for `END_MARKER_S`."""
        view = None
        while True:
            self._watch()
            self._print()
            if self._clock.monotonic() - self._looked >= LOOK_S or all(log.ended for log in self._logs):
                view, self._looked = self._waiter.look(), self._clock.monotonic()
            if view is not None and self._is_done(view):
                for log in self._logs:
                    self._screen.lines(log.close())
                return view
            self._clock.sleep(POLL_S)

    def _is_done(self, view: View) -> bool:
        attempt = view.state.attempt(self._key)
        if attempt is not None and attempt.state is not AttemptState.ENDED:
            return False
        self._over = self._over if self._over is not None else self._clock.monotonic()
        silent = {n for n, worker in enumerate(attempt.workers) if worker.voided} if attempt else set()
        complete = all(log.ended or log.worker in silent for log in self._logs)
        return complete or self._clock.monotonic() - self._over >= END_MARKER_S

    def _print(self) -> None:
        try:
            for log in self._logs:
                for lines in log.more(self._tasks):
                    self._screen.lines(lines)
        except (Denied, NoBucket):
            raise
        except BucketError as error:
            self._waiter.problem(str(error))

    def _watch(self) -> None:
        """Tell the workers that somebody looks, so that they flush fast. Who may not write sees it a little later."""
        if self._clock.monotonic() - self._watched < WATCH_S:
            return
        self._watched = self._clock.monotonic()
        try:
            self._bucket.write(layout.watch(self._key.job, self._key.task), b"")
        except BucketError as error:
            self._screen.note(f"the workers are not told that somebody follows: {error}")


def _was_last(task: Task | None, number: int) -> bool:
    """No attempt follows this one."""
    return task is None or (task.state in ENDED and number + 1 >= len(task.attempts))


def _task(found: Found, task: int, view: View) -> Task | None:
    job = view.state.jobs.get(found.id)
    return job.tasks.get(task) if job else None


def _number(begun: Task | None, choice: Choice, found: Found) -> int:
    """The attempt that is meant: the newest, unless one was named. Raises `BastionError` if that one is not there."""
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
