"""Counters of users: open jobs, their tasks, the bytes of a day's requests. Pure but for its own counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime

import msgspec


class UserCounters:
    """Counters of open jobs. A user whose last job has ended is forgotten.

    `jobs` and `tasks` count by user, `all_jobs` and `all_tasks` count for everybody.
    """

    def __init__(self, known: Iterable[tuple[str, int]] = ()) -> None:
        self.jobs, self.tasks = Counter[str](), Counter[str]()
        self.all_jobs = self.all_tasks = 0
        for user, tasks in known:
            self.enter(user, tasks)

    def enter(self, user: str, tasks: int) -> None:
        """Count an accepted job with this many tasks."""
        self._add(user, 1, tasks)

    def leave(self, user: str, tasks: int) -> None:
        """Remove a counted job that has ended."""
        self._add(user, -1, -tasks)
        if not self.jobs[user]:
            del self.jobs[user], self.tasks[user]

    def _add(self, user: str, jobs: int, tasks: int) -> None:
        self.jobs[user] += jobs
        self.tasks[user] += tasks
        self.all_jobs += jobs
        self.all_tasks += tasks


class DailyBytes(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The bytes of the requests that were taken in on one day.

    day: the day (UTC); None before the first request.
    users: bytes by user.
    writers: the user who really wrote a request in another user's inbox, by request.
    """

    day: date | None = None
    users: dict[str, int] = {}
    writers: dict[str, str] = {}

    def add(self, request: str, user: str, size: int, now: datetime) -> None:
        """Count one request of this user. A new day starts from zero."""
        if now.date() != self.day:
            self.day, self.users, self.writers = now.date(), {}, {}
        self.users[user] = self.users.get(user, 0) + size
        if user != request.partition("/")[0]:
            self.writers[request] = user

    def on(self, now: datetime) -> dict[str, int]:
        """Return the bytes by user that were counted on this day."""
        return self.users if now.date() == self.day else {}
