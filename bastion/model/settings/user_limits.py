"""Limits on what users may have and send, for each user and for all together. Pure.

They keep memory and journal bounded, whatever users send. `RequestCounters` changes only its own counts.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, datetime, timedelta
from itertools import takewhile

from ..state.state import State
from ..state.user_counters import UserCounters
from .tables import UserLimits

_MORE = "wait until some have ended, or ask an admin of the bastion for more"


def too_much(census: UserCounters, user: str, tasks: int, limits: UserLimits) -> str:
    """Return why the user may not have one more job with this many tasks; empty if they may."""
    for own, of_all, more, what, name in (
        (census.jobs[user], census.all_jobs, 1, "jobs that have not ended", "jobs"),
        (census.tasks[user], census.all_tasks, tasks, "tasks of jobs that have not ended", "tasks"),
    ):
        most, most_each = getattr(limits, name), getattr(limits, f"{name}_per_user")
        if own + more > most_each:
            return f"{user} has {own} {what}, and at most {most_each} are allowed (limits.{name}_per_user); {_MORE}"
        if of_all + more > most:
            return f"all users have {of_all} {what}, and at most {most} are allowed (limits.{name}); {_MORE}"
    return ""


class RequestCounters:
    """Counters of the requests that each user sent today.

    It counts those of the state first, and then each new request.
    """

    def __init__(self, state: State) -> None:
        self._day = date.min
        self._requests = Counter[str]()
        self._all_requests = 0
        if state.now is not None:
            self._begin(state.now)
            # requests are in the order of their times: today's are the last ones
            today = takewhile(lambda known: known[1].date() == self._day, reversed(state.requests.items()))
            writers = state.sent.writers if state.sent else {}
            for name, at in list(today):
                self.sent(writers.get(name) or _user(name), at)

    def sent(self, user: str, now: datetime) -> None:
        """Count a request of this user that was consumed; the state holds its name for a day."""
        if now.date() != self._day:
            self._begin(now)
        self._requests[user] += 1
        self._all_requests += 1

    def too_many(self, user: str, state: State, now: datetime, limits: UserLimits) -> str:
        """Return why no more requests of this user are read today, except those that end a job.

        Empty if they are read.
        """
        sent = state.sent.on(now) if state.sent else {}
        today = now.date() == self._day
        for own, of_all, what, most_are, name in (
            (self._requests[user], self._all_requests, "requests", "read", "requests"),
            (sent.get(user, 0), sum(sent.values()), "bytes of requests", "accepted", "request_bytes"),
        ):
            most, most_each = getattr(limits, name), getattr(limits, f"{name}_per_user")
            if today and own >= most_each:
                allowed = f"at most {most_each} are {most_are} (limits.{name}_per_user)"
                return f"{user} has sent {own} {what} today, and {allowed}; {_again(now)}"
            if today and of_all >= most:
                allowed = f"at most {most} are {most_are} (limits.{name})"
                return f"all users have sent {of_all} {what} today, and {allowed}; {_again(now)}"
        return ""

    def senders(self) -> list[str]:
        """Return the users who have sent something today."""
        return list(self._requests)

    def _begin(self, now: datetime) -> None:
        self._day = now.date()
        self._requests.clear()
        self._all_requests = 0


def _user(request: str) -> str:
    return request.partition("/")[0]


def _again(now: datetime) -> str:
    tomorrow = now + timedelta(days=1)
    return f"the count begins again at {tomorrow:%Y-%m-%dT00:00Z}; until then only requests that end a job are read"
