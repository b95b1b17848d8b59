"""Conditions for a job's start, as its spec gives them: ends of other jobs, a begin and a deadline. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from ..wording import shown

OK, ANY, FAIL = KINDS = ("ok", "any", "fail")
AFTER_MAX = 100
YEARS = 2000, 2999

_TEXT = re.compile(rf"(?:({'|'.join(KINDS)}):)?([A-Za-z0-9._-]{{1,128}})(?:\[(0|[1-9][0-9]{{0,5}})\])?")


class Condition(NamedTuple):
    """The end of a job, or of one of its tasks, that another job waits for.

    kind: `ok` with success, `fail` without, `any` either way. For an array, `ok` means that all tasks succeeded, and
        `fail` that all have ended and some without success.
    job: the id of that job.
    task: the number of the task; None means the whole job.
    """

    kind: str
    job: str
    task: int | None

    def __str__(self) -> str:
        """Return `ok:prep-0d4af07e` or `any:sweep-0d4af07e[17]`."""
        return f"{self.kind}:{self.job}" + ("" if self.task is None else f"[{self.task}]")


def condition(text: str) -> Condition | None:
    """Parse `fail:prep`, `any:sweep[17]`, or `prep`, which means `ok:prep`. Return None if it is no condition."""
    match = _TEXT.fullmatch(text)
    if match is None:
        return None
    kind, job, task = match.groups()
    return Condition(kind or OK, job, None if task is None else int(task))


def conditions(texts: Sequence[str]) -> tuple[Condition, ...]:
    """Return the conditions of checked texts, each once."""
    return tuple(dict.fromkeys(found for text in texts if (found := condition(text))))


def after(value: Sequence[str]) -> Iterator[str]:
    """Check conditions; yield complaints."""
    if len(value) > AFTER_MAX:
        yield f"has {len(value)} conditions; at most {AFTER_MAX} are allowed"
    for text in value[:AFTER_MAX]:
        if condition(text) is None:
            yield f"has {shown(text)}; use ok:JOB, any:JOB or fail:JOB, or of an array's task ok:JOB[17]"


def moment(value: datetime | None) -> Iterator[str]:
    """Check a time: it has a zone, and its year is within `YEARS`. Yield complaints."""
    if value is not None and (value.tzinfo is None or not YEARS[0] <= value.year <= YEARS[1]):
        yield f"is {shown(str(value))}; use a time with its zone, as in 2026-01-31T09:30:00Z"


def in_order(begin: datetime | None, deadline: datetime | None) -> Iterator[str]:
    """Check begin and deadline together; yield complaints."""
    if begin and deadline and begin >= deadline:
        yield f"deadline is {deadline.isoformat()}, not after begin, {begin.isoformat()}; the job could never run"
