"""The work that each project did, by place in the journal and by start: how much of it went to which jobs. Pure.

A job is overtaken by what its project gave to others that came behind it (`bastion.quota.policy.overtaken`). That sum
would cost a pass over all jobs for each job that waits. Here it is two lookups: work that starts adds its units to one
row, and a row's work at any moment is `held * moment + base`, so a sum of rows is one sum of each of the two.

All numbers are whole: units times microseconds. So the same events give the same sums, in whatever order they are
added, and a decision can be replayed bit for bit. A table has at most `ROWS` rows. Then those neighbours become one row
that are least beside all that came after them. So the longer ago, the less exact, and memory does not grow with time.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise

from msgspec import Struct

from .resources import Resources

ROWS = 256
"""The most rows of a table. A sum that begins inside a merged row leaves this row out, so it may be a little too small."""

AHEAD = timedelta(minutes=1) // timedelta(microseconds=1)
"""Microseconds that what is held now counts more, where rows are compared: as if it went on for so long."""

FORGOTTEN = timedelta(days=7)
"""A project that has held nothing for this long is forgotten."""

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def moment(now: datetime) -> int:
    """Return a time as whole microseconds."""
    return (now - _EPOCH) // _MICROSECOND


class WorkTable(Struct, dict=True):
    """Work by a key that grows: the place of a job in the journal, or the moment of a start.

    low: the smallest key of each row, ascending.
    high: the largest key of each row.
    held: the units that each row holds now.
    base: what each row used, less `held` times the present moment.
    """

    low: list[int] = []
    high: list[int] = []
    held: list[int] = []
    base: list[int] = []

    def __post_init__(self) -> None:
        self._sums: tuple[list[int], list[int]] | None = None

    def hold(self, key: int, units: int, now: int) -> None:
        """Enter that from now on this key holds so many units more, or less if they are below 0."""
        self._sums = None
        at = bisect_right(self.low, key) - 1
        if at < 0 or self.high[at] < key:
            at += 1
            for column, value in ((self.low, key), (self.high, key), (self.held, 0), (self.base, 0)):
                column.insert(at, value)
        self.held[at] += units
        self.base[at] -= units * now
        if len(self.low) > ROWS:
            self._merge(now)

    def after(self, key: int, now: int) -> int:
        """Return what all keys above this one used by now, in units times microseconds."""
        if self._sums is None:
            self._sums = _from_the_end(self.held), _from_the_end(self.base)
        held, base = self._sums
        at = bisect_right(self.low, key)
        return held[at] * now + base[at]

    def _merge(self, now: int) -> None:
        rows = _alike([held * (now + AHEAD) + base for held, base in zip(self.held, self.base, strict=True)])
        for column in (self.held, self.base):
            for at in rows:
                column[at] += column[at + 1]
        for at in reversed(rows):
            self.high[at] = self.high[at + 1]
            for column in (self.low, self.high, self.held, self.base):
                del column[at + 1]


def _from_the_end(column: list[int]) -> list[int]:
    """Return for each row the sum of it and all rows behind it, and 0 at the end."""
    return [*accumulate(reversed(column), initial=0)][::-1]


def _alike(work: list[int]) -> list[int]:
    """Return the rows to merge with the next one, ascending: a quarter of all, no two of them neighbours.

    They are those that, together with the next one, are least beside the work of all rows behind both.
    """
    behind, chosen = _from_the_end(work), set[int]()
    for at in sorted(range(len(work) - 1), key=lambda at: (behind[at] - behind[at + 2] + 1) / (behind[at + 2] + 1)):
        if len(chosen) < len(work) // 4 and chosen.isdisjoint((at - 1, at + 1)):
            chosen.add(at)
    return sorted(chosen)


class KindWork(Struct):
    """What one project used of one kind.

    held: the units that it holds now.
    used: what it used up to the newest moment of `moments`, in units times microseconds.
    moments, uses: what it had used by each of these moments.
    orders: the work of the jobs of each rank (see `rank_number`), by place in the journal.
    starts: the same work, by the moment of the start.
    """

    held: int = 0
    moments: list[int] = []
    uses: list[int] = []
    orders: dict[int, WorkTable] = {}
    starts: dict[int, WorkTable] = {}

    def hold(self, rank: int, order: int, start: int, units: int, now: int) -> None:
        """Enter that an attempt of this rank holds so many units more, or less if they are below 0."""
        now = max([now, *self.moments[-1:]])  # a clock that is set back does not undo work
        used = self.used(now)
        if not self.moments or self.moments[-1] != now:
            self.moments.append(now)
            self.uses.append(used)
        self.held += units
        for tables, key in ((self.orders, order), (self.starts, start)):
            tables.setdefault(rank, WorkTable()).hold(key, units, now)
        if len(self.moments) > ROWS:
            for at in reversed(_alike([after - before for before, after in pairwise(self.uses)])):
                del self.moments[at + 1], self.uses[at + 1]

    def used(self, now: int) -> int:
        """Return what was used by now: from the newest moment on, `held` all the time."""
        return self.uses[-1] + self.held * (now - self.moments[-1]) if self.moments else 0

    def used_by(self, then: int) -> int:
        """Return what had been used by an earlier moment. Between two known moments it grows evenly."""
        at = bisect_right(self.moments, then)
        if at == len(self.moments):
            return self.used(then)
        if not at:
            return self.uses[0]
        begin, end, before, behind = self.moments[at - 1], self.moments[at], self.uses[at - 1], self.uses[at]
        return before + (behind - before) * (then - begin) // (end - begin)


class ProjectWork(Struct):
    """What one project used.

    at: when it changed last.
    kinds: what it used of each kind.
    """

    at: datetime
    kinds: dict[str, KindWork] = {}


Work = Mapping[str, ProjectWork]
"""The work of each project."""


def rank_number(job_class: int, priority: int) -> int:
    """Return the importance of a job inside its project as one number. The smaller goes first."""
    return job_class * 1_000 + priority


def hold(
    work: dict[str, ProjectWork],
    project: str,
    demand: Resources,
    sign: int,
    *,
    rank: int,
    order: int,
    start: datetime,
    now: datetime,
) -> None:
    """Enter that an attempt of this rank, place and start holds its demand from now on, or with `sign` -1 no more."""
    row = work.pop(project, None) or ProjectWork(now)
    row.at = max(row.at, now)
    for kind, amount in demand.items():
        if amount:
            row.kinds.setdefault(kind, KindWork()).hold(rank, order, moment(start), sign * amount, moment(now))
    work[project] = row
    name = next(iter(work))
    oldest = work.pop(name)
    if now - oldest.at <= FORGOTTEN or any(kind.held for kind in oldest.kinds.values()):
        work[name] = oldest  # at the end, so that the next change looks at another one
