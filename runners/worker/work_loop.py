"""One long piece of work at a time, and small chores beside it. A chore that hangs or fails never blocks the caller."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bastion.model.errors import BucketError
from bastion.model.interfaces import Clock, Tasks

_WAIT_MAX_S = 60.0
_PAUSE_S = 1.0

Turn = Callable[[], float]
"""A function that is called at every turn and returns the seconds until it wants the next one.

It may raise, to give up the work.
"""


def idle() -> float:
    """Return infinity: the turn of a caller that needs no turns."""
    return math.inf


@dataclass(slots=True)
class Chore:
    """A task that the loop repeats. After an error it runs again at its next time.

    name: the chore's name, unique in the loop.
    work: the task, which runs beside the loop.
    period: returns the seconds from the start of one run to the next.
    then: takes the result, in the loop.
    due: the monotonic time of the next run.
    running: True while the task runs.
    problem: the error of the last run, so that it is reported once; "" after a success.
    """

    name: str
    work: Callable[[], Any]
    period: Callable[[], float]
    then: Callable[[Any], None] = lambda _: None
    due: float = 0.0
    running: bool = False
    problem: str = ""


class WorkLoop:
    """The worker's loop."""

    def __init__(self, clock: Clock, tasks: Tasks, say: Callable[[str], None]) -> None:
        self._clock = clock
        self._tasks = tasks
        self._say = say
        self._chores: dict[str, Chore] = {}
        self._works: dict[str, tuple[Any, Exception | None]] = {}

    def add(self, chore: Chore) -> None:
        """Add a chore, to be done from now on."""
        self._chores[chore.name] = chore

    def hurry(self, name: str) -> None:
        """Make this chore due now; it starts as soon as it is not running."""
        self._chores[name].due = 0.0

    def until(self, name: str, work: Callable[[], Any], turn: Turn = idle) -> Any:
        """Do `work`, and the chores meanwhile. Return its result, or raise its exception."""
        while not self._tasks.start(name, work):
            self._clock.sleep(_PAUSE_S)
        self.until_true(lambda: name in self._works, turn)
        result, error = self._works.pop(name)
        if error is not None:
            raise error
        return result

    def until_true(self, condition: Callable[[], bool], turn: Turn = idle) -> None:
        """Do the chores until `condition` holds."""
        while not condition():
            wanted = turn()
            self._begin_due()
            self._tasks.wait(min(wanted, self._next_due(), _WAIT_MAX_S))
            self._collect()

    def _begin_due(self) -> None:
        now = self._clock.monotonic()
        for chore in self._chores.values():
            if not chore.running and chore.due <= now:
                chore.running = self._tasks.start(chore.name, chore.work)
                chore.due = now + chore.period()

    def _next_due(self) -> float:
        dues = [chore.due for chore in self._chores.values() if not chore.running]
        return max(0.0, min(dues, default=math.inf) - self._clock.monotonic())

    def _collect(self) -> None:
        for end in self._tasks.finished():
            chore = self._chores.get(end.task)
            if chore is None:
                self._works[end.task] = end.result, end.error
                continue
            chore.running = False
            self._note(chore, end.error)
            if end.error is None:
                chore.then(end.result)

    def _note(self, chore: Chore, error: Exception | None) -> None:
        """Report a problem once, no matter how long it lasts."""
        problem = "" if error is None else str(error)
        if problem and problem != chore.problem:
            self._say(f"{chore.name}: {problem}")
        chore.problem = problem


def persist(clock: Clock, work: Callable[[], Any], pause_s: float) -> Any:
    """Return the result of `work`, which is tried again after each `BucketError`."""
    while True:
        try:
            return work()
        except BucketError:
            clock.sleep(pause_s)
