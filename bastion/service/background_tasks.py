"""Start background tasks by their types, and know since when each of them has run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..model.errors import LeadershipLost
from ..model.interfaces import Clock, Tasks
from .task_results import BackgroundTask, Done, Failed, R


def start(tasks: Tasks, task: BackgroundTask[R], work: Callable[[], R]) -> bool:
    """Start `work`, which yields what `task` says. Return False if an equal task is not collected yet, or it cannot start now."""
    return tasks.start(task, work)


def then(work: Callable[[], object], result: R) -> Callable[[], R]:
    """Return a function that does `work` and yields `result`: for a task of which only the end is news."""

    def both() -> R:
        work()
        return result

    return both


class BackgroundTasks:
    """The tasks of one bastion. `since` is the monotonic time at which each task began that is not collected yet."""

    def __init__(self, tasks: Tasks, clock: Clock) -> None:
        self.since: dict[BackgroundTask[Any], float] = {}
        self._tasks, self._clock = tasks, clock

    def start(self, task: BackgroundTask[R], work: Callable[[], R]) -> bool:
        """Start `work`. Return False if an equal task is not collected yet, or if the work cannot be started now."""
        begun = start(self._tasks, task, work)
        if begun:
            self.since[task] = self._clock.monotonic()
        return begun

    def finished(self) -> list[Done | Failed]:
        """Return the tasks that ended since the last call, in the order of their ends."""
        ends = self._tasks.finished()
        for end in ends:
            self.since.pop(end.task, None)
        return [Done(end.task, end.result) if end.error is None else Failed(end.task, end.error) for end in ends]

    def finish(self, task: BackgroundTask[R], work: Callable[[], R]) -> None:
        """Run `work` as this task, after an equal one that still runs, and wait for its end. Raises `LeadershipLost`."""
        begun = ended = False
        while not ended:
            begun = begun or self.start(task, work)
            self._tasks.wait(1.0)
            for end in self.finished():
                if isinstance(end, Failed) and isinstance(end.error, LeadershipLost):
                    raise end.error
                ended = ended or (begun and end.task == task)
