"""How much users may have and send, each of them and all together: so memory and journal stay bounded whatever comes. Pure.

It changes only its own counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from itertools import takewhile

import msgspec

from bastion.census import Census
from bastion.state import State
from bastion.wording import shown

_MOST = 10_000_000
_MORE = "wait until some have ended, or ask an admin of the bastion for more"


class Limits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many at the most: jobs that have not ended, their tasks, and requests a day (UTC)."""

    jobs: int = 200_000
    jobs_per_user: int = 20_000
    tasks: int = 1_000_000
    tasks_per_user: int = 200_000
    requests: int = 500_000
    requests_per_user: int = 100_000


def faults(limits: Limits) -> Iterator[str]:
    """What is wrong with these limits."""
    for name in limits.__struct_fields__:
        if not 1 <= (most := getattr(limits, name)) <= _MOST:
            yield f"{name} is {shown(most)}; use a whole number from 1 to {_MOST}"


def too_much(census: Census, user: str, tasks: int, limits: Limits) -> str:
    """Why the user may not have one more job with so many tasks; empty if they may."""
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


class Crowd:
    """What every user has sent today: counted from the state, and kept up with what is added to it."""

    def __init__(self, state: State) -> None:
        self._day = date.min
        self._requests = Counter[str]()
        self._all_requests = 0
        if state.now is not None:
            self._begin(state.now)
            today = takewhile(lambda known: known[1].date() == self._day, reversed(state.requests.items()))
            for name, at in list(today):
                self.sent(name, at)

    def sent(self, request: str, now: datetime) -> None:
        """A request was consumed, and is remembered for a day."""
        if now.date() != self._day:
            self._begin(now)
        self._requests[_user(request)] += 1
        self._all_requests += 1

    def too_many(self, user: str, now: datetime, limits: Limits) -> str:
        """Why nothing more is heeded of this user today but the end of a job; empty if it is."""
        if now.date() != self._day:
            return ""
        again = f"that begins again at {_next_day(now):%Y-%m-%dT00:00Z}, and until then only the end of a job is heeded"
        if (own := self._requests[user]) >= limits.requests_per_user:
            most = limits.requests_per_user
            return (
                f"{user} has sent {own} requests today, and at most {most} are read (limits.requests_per_user); {again}"
            )
        if (of_all := self._all_requests) >= limits.requests:
            most = limits.requests
            return (
                f"all users have sent {of_all} requests today, and at most {most} are read (limits.requests); {again}"
            )
        return ""

    def senders(self) -> list[str]:
        """Who has sent something today."""
        return list(self._requests)

    def _begin(self, now: datetime) -> None:
        self._day = now.date()
        self._requests.clear()
        self._all_requests = 0


def _user(request: str) -> str:
    return request.partition("/")[0]


def _next_day(now: datetime) -> datetime:
    return now + timedelta(days=1)
