"""How many jobs have not ended, and how many tasks they have: of each user, and of all. Pure but for its own counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


class Census:
    """`jobs` and `tasks` by user; `all_jobs` and `all_tasks` of everybody. Whose last job has ended is forgotten."""

    def __init__(self, known: Iterable[tuple[str, int]] = ()) -> None:
        self.jobs, self.tasks = Counter[str](), Counter[str]()
        self.all_jobs = self.all_tasks = 0
        for user, tasks in known:
            self.enter(user, tasks)

    def enter(self, user: str, tasks: int) -> None:
        """A job of so many tasks was accepted."""
        self._add(user, 1, tasks)

    def leave(self, user: str, tasks: int) -> None:
        """A job that was entered has ended."""
        self._add(user, -1, -tasks)
        if not self.jobs[user]:
            del self.jobs[user], self.tasks[user]

    def _add(self, user: str, jobs: int, tasks: int) -> None:
        self.jobs[user] += jobs
        self.tasks[user] += tasks
        self.all_jobs += jobs
        self.all_tasks += tasks
