"""The logs of an array as one log: lines of all its tasks, each with the number of its task in front."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from math import inf

from bastion.model.errors import AccessDenied, BucketError, BucketNotFound, UsageError
from bastion.model.interfaces import AttemptKey
from bastion.model.state.state import AttemptState, Job, JobState, Task

from ..read import exit_codes
from ..read.job_lookup import FoundJob
from ..read.view import View
from ..read.wait_for_end import EndWaiter, code_now
from .follower_notice import FollowerNotice
from .log_lines import LogSelection, LogStream, streams
from .task_follower import END_MARKER_S, LOOK_S, POLL_S, READS_A_S, FollowContext, FollowOutput

TASKS_MAX = 100
"""Most tasks whose logs are shown together. Each log costs requests, and people read no more."""

WATCHED_MAX = 20
"""Most tasks whose workers are asked to upload soon. Other workers upload as if no one followed."""

_BAD = frozenset({JobState.FAILED, JobState.TIMEOUT})


def chosen(job: Job, *, failed: bool, most: int = TASKS_MAX) -> tuple[list[int], int]:
    """Select the tasks to show, and return them in order, with the number of tasks to choose from.

    Running tasks come first, then those that ended last. With `failed`, only failed tasks are selected.
    """
    meant = [
        (number, task) for number, task in job.tasks.items() if task.attempts and (task.state in _BAD or not failed)
    ]
    meant.sort(key=_rank, reverse=True)
    return sorted(number for number, _ in meant[:most]), len(meant)


def _rank(numbered: tuple[int, Task]) -> tuple[bool, float, int]:
    number, task = numbered
    last = task.attempts[-1]
    return task.live is not None, (last.ended or last.started).timestamp(), -number


def snapshot(
    context: FollowContext, found: FoundJob, choice: LogSelection, screen: FollowOutput, *, failed: bool
) -> int:
    """Print what the logs hold now, task after task, and return at once with the exit code of the job.

    Raises `UsageError` if the choice names an attempt.
    """
    _refuse_attempt(found, choice)
    view = context.reader.look()
    job = _job(found, view)
    if job is not None:
        numbers, of = chosen(job, failed=failed)
        _say_which(found, len(numbers), of, screen, failed=failed)
        for number in numbers:
            for stream in _streams(context, job, number, len(job.tasks[number].attempts) - 1, choice):
                for lines in stream.stored(context.tasks):
                    screen.lines(lines)
                screen.lines(stream.close())
    return code_now(found, view)


def follow(context: FollowContext, found: FoundJob, choice: LogSelection, screen: FollowOutput) -> int:
    """Print what the tasks print, as it comes, until the array has ended. Return its exit code.

    Reads at most `TASKS_MAX` logs at one time. Logs of later tasks follow as others end, and none is left out. Raises
    `UsageError` if the choice names an attempt.
    """
    _refuse_attempt(found, choice)
    return _Follower(context, found, choice, screen).run()


class _Follower:
    """A loop that follows the tasks of an array. Mutable.

    `_known` is the number of attempts of each task that were seen. `_queue` holds the logs to open.
    """

    def __init__(self, context: FollowContext, found: FoundJob, choice: LogSelection, screen: FollowOutput) -> None:
        self._context, self._found, self._choice, self._screen = context, found, choice, screen
        self._waiter = EndWaiter(context.reader, context.clock, found, screen.note)
        self._known: dict[int, int] = {}
        self._queue: deque[tuple[int, int, LogSelection]] = deque()
        self._open: dict[tuple[int, int], list[LogStream]] = {}
        self._over: dict[tuple[int, int], float] = {}
        self._watching: dict[int, FollowerNotice] = {}
        self._first = True

    def run(self) -> int:
        clock, view, looked = self._context.clock, None, -inf
        while True:
            began = clock.monotonic()
            if began - looked >= LOOK_S or not self._open:
                view, looked = self._waiter.look() or view, began
            job = _job(self._found, view) if view else None
            if job is not None:
                self._take_in(job)
                self._fill_up(job)
                self._print()
                self._let_go(job)
            if view is not None and not (self._open or self._queue):
                if (code := code_now(self._found, view)) != exit_codes.NOT_ENDED:
                    return code
                self._waiter.tell(view)
                self._waiter.pause()
            else:
                clock.sleep(began + max(POLL_S, len(self._open) / READS_A_S) - clock.monotonic())

    def _take_in(self, job: Job) -> None:
        """Queue the attempts that began since the last look. The first look queues a selection of those that exist."""
        now = {number: len(task.attempts) for number, task in job.tasks.items() if task.attempts}
        if self._first and now:
            numbers, of = chosen(job, failed=False)
            _say_which(self._found, len(numbers), of, self._screen, failed=False)
            self._queue.extend((number, now[number] - 1, self._choice) for number in numbers)
        elif not self._first:
            # Output of a new attempt is all new, so `--tail` and `--since` leave out nothing of it.
            whole = replace(self._choice, tail=None, since=None)
            fresh = ((n, attempt) for n in sorted(now) for attempt in range(self._known.get(n, 0), now[n]))
            self._queue.extend((*key, whole) for key in fresh)
        self._first &= not now
        self._known = now

    def _fill_up(self, job: Job) -> None:
        while self._queue and len(self._open) < TASKS_MAX:
            number, attempt, choice = self._queue.popleft()
            self._open[number, attempt] = _streams(self._context, job, number, attempt, choice)

    def _print(self) -> None:
        try:
            for number in list(dict.fromkeys(number for number, _ in self._open))[:WATCHED_MAX]:
                self._watch(number)
            for logs in self._open.values():
                for log in logs:
                    for lines in log.more(self._context.tasks):
                        self._screen.lines(lines)
        except (AccessDenied, BucketNotFound):
            raise
        except BucketError as error:
            self._waiter.problem(str(error))

    def _watch(self, number: int) -> None:
        """Ask the workers of a task to upload soon.

        A follower without the right to write sees the output a little later.
        """
        context = self._context
        watching = self._watching.setdefault(
            number, FollowerNotice(context.bucket, context.clock, self._found.id, number)
        )
        try:
            watching.renew()
        except BucketError as error:
            self._waiter.problem(f"the workers cannot be asked to upload sooner, so the log may lag: {error}")

    def _let_go(self, job: Job) -> None:
        """Close the logs of attempts that are over, once they are complete or `END_MARKER_S` have passed."""
        now = self._context.clock.monotonic()
        for (number, attempt), logs in list(self._open.items()):
            known = job.tasks[number].attempts[attempt]
            if known.state is not AttemptState.ENDED:
                continue
            since = self._over.setdefault((number, attempt), now)
            whole = all(log.ended or known.workers[log.worker].voided for log in logs)
            if whole or now - since >= END_MARKER_S:
                for log in self._open.pop((number, attempt)):
                    self._screen.lines(log.close())
                self._watching.pop(number, None)


def _streams(context: FollowContext, job: Job, number: int, attempt: int, choice: LogSelection) -> list[LogStream]:
    workers = len(job.tasks[number].attempts[attempt].workers)
    return streams(context.bucket, AttemptKey(job.id, number, attempt), workers, choice, task=number)


def _job(found: FoundJob, view: View) -> Job | None:
    return view.state.jobs.get(found.id) or found.job


def _refuse_attempt(found: FoundJob, choice: LogSelection) -> None:
    if choice.attempt is not None:
        raise UsageError(f"--attempt goes with one task; name it, as in '{found.name}[0]'")


def _say_which(found: FoundJob, shown: int, of: int, screen: FollowOutput, *, failed: bool) -> None:
    kind = "failed tasks" if failed else "tasks that have begun"
    if failed and not of:
        screen.note(f"no task of {found.name} has failed")
    elif shown < of:
        which = "the last to fail" if failed else "those that run, then the last to end"
        screen.note(f"showing {shown} of {of} {kind}, {which}; name one as in '{found.name}[3]'")
