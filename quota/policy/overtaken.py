"""How far jobs are overtaken, and the reservation of a project for the first that is overtaken for too long. Pure.

Not the time that a job waits counts, but what its project gave meanwhile to jobs behind it. A job waits for those before
it, as in any queue. But small jobs behind it find room where it finds none, and without a right it would wait for as
long as such jobs come. So, of the time that a job waits, the part counts that its project gave to jobs behind it:

    overtaken = waited * (work of jobs behind it that started since) / (work of all jobs of its project that did)

This is the work of the kind that the job finds too little of; of several such kinds, the largest part counts.

Once that is more than the job's limit, the job has a right. The first such job of a project has a *reservation*: until it
has started, no job of its project behind it starts if it needs the same room. The rooms of other projects are untouched:
what the project frees within its share is promised to it anyway, and the rest is lent as always.

- The limit is `PATIENCE` for a job that asks for `FULL` of its project or more, and in proportion less for a smaller one.
  So of two jobs the smaller never waits longer for being smaller, and no size is absolute.
- What started by this right may hold `BUDGET` of its project at once. Beyond that, a job is overtaken for too long only
  if jobs behind it got more than `PART` of all work, also of what ran before. So where one size is most of the work, it
  does not stop the others.
- The first in a project is who used least (`ProjectQueue`). A user who used less than `LIGHT` of the mean of the users is
  before all others: all that started since such a job waits has overtaken it, and the budget does not count. A user who
  used more than `HEAVY` of it is behind most: jobs behind theirs may have all work but one user's part.
- In a project where all jobs ask for the same, nobody is overtaken for being larger, and there is no reservation.
- A job that asks for more than its project's share has no reservation either: the project alone cannot free enough for it.
  It takes back what was lent instead (`large_jobs`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from ..demand import OVERTAKEN, Overtaken, PolicySettings, Want
from ..project_work import KindWork, Work, moment, rank_number
from ..shares import Shares
from .availability import Availability
from .index import Place, WantIndex, WorkClass, place
from .share_promises import SharePromises

PATIENCE, FULL = 0.6, 1 / 16
"""A job that asks for `FULL` of its project or more may be overtaken for `PATIENCE` times `gang_patience_s`. Its project
is what it holds or its share, whichever is more."""

BUDGET, PART = 1 / 4, 0.45
LIGHT, HEAVY = 1 / 2, 2

LATER = timedelta(minutes=1)
"""Time alone makes a job overtaken for too long after this time at the earliest, as far as the policy looks."""

_SECOND = 1_000_000
_NOTHING = KindWork()

Weight = Callable[[str, str], float]
Bar = Callable[[Want, WorkClass], str]


class OvertakenJobs:
    """How far the jobs of all projects are overtaken at this moment, and the reservations.

    reservations: the job that each project has a reservation for, and how far it is overtaken.
    wakes: moments at which time alone may give a job a right.
    """

    def __init__(
        self,
        index: WantIndex,
        room: Availability,
        shares: Shares,
        owed: SharePromises,
        work: Work,
        *,
        weight: Weight,
        bar: Bar,
        now: datetime,
        settings: PolicySettings,
    ) -> None:
        self._index, self._room, self._shares, self._owed = index, room, shares, owed
        self._weight, self._now = weight, now
        self._work: Work = work if settings.rules >= OVERTAKEN else {}
        self._patience_s = PATIENCE * settings.gang_patience_s
        self._kinds = shares.governed or shares.capacity.keys()
        self._users: dict[str, set[str]] = {}
        self._means: dict[str, float] = {}
        self.wakes: list[datetime] = []
        self.reservations: dict[str, Overtaken] = {}
        for project, work_classes in index.work_classes.items():
            if project in self._work and index.sizes_differ(project):
                self._reserve(project, work_classes.values(), bar)

    def of(self, want: Want, *, exact: bool = True) -> Overtaken | None:
        """Return how far a job is overtaken; None if it can have no reservation.

        Without `exact`, one that waits for less than its limit counts as not overtaken: it has no right yet.
        """
        project, work = want.project, self._work.get(want.project)
        asked = [(amount / max(1, self._shares.capacity.get(kind, 0)), kind) for kind, amount in want.demand.items()]
        _, kind = max((row for row in asked if row[1] in self._kinds), default=(0, ""))
        if work is None or not want.demand.get(kind):
            return None
        shares, units, used = self._shares.units(project), want.demand[kind], work.kinds.get(kind, _NOTHING)
        if any(amount > shares.get(name, 0) for name, amount in want.demand.items() if name in self._shares.governed):
            return None
        size, waited_s = max(used.held, shares.get(kind, 0), 1), (self._now - want.since).total_seconds()
        patience_s = self._patience_s * min(1.0, units / size / FULL)
        overtaken_s, limit_s, of_all = 0.0, patience_s, False
        if waited_s > patience_s and not self.is_light(project, want.user):
            heavy = self._weight(project, want.user) > HEAVY * self._mean(project)
            of_all = heavy or self._index.rights[project].get(kind, 0) + units > max(BUDGET * size, units)
            if of_all:
                part = 1 - 1 / len(self._users_of(project)) if heavy else PART
                limit_s = max(patience_s, part * waited_s)
        if exact or waited_s > patience_s:  # nobody is overtaken for longer than they wait
            missing = [name for name, amount in want.demand.items() if amount > self._room.most_free(name)] or [kind]
            parts = (self._overtaken_s(want, work.kinds.get(name, _NOTHING), of_all=of_all) for name in missing)
            overtaken_s = max(parts)
        return Overtaken(want.job, project, want.user, kind, units, want.since, overtaken_s, limit_s, of_all)

    def has_started(self, want: Want) -> None:
        """End the reservation if it is for this want: it holds nothing back any more."""
        if want.project in self.reservations and self.reservations[want.project].job == want.job:
            del self.reservations[want.project]

    def holds_back(self, want: Want, work_class: WorkClass) -> bool:
        """Return True if the job stands behind the reservation of its project and needs the same room."""
        last = self.last(work_class, want.user)
        return last is not None and place(want) > last

    def last(self, work_class: WorkClass, user: str) -> Place | None:
        """Return the last place of a user in a work class that the reservation does not hold back; None: all may start.

        The work class needs the room of the reservation if it asks for a kind of which too little is left beside it.
        """
        found = self.reservations.get(work_class.project)
        if found is None:
            return None
        want = self._index.wants[found.job]
        both = tuple((kind, amount + want.demand[kind]) for kind, amount in work_class.demand if want.demand.get(kind))
        if self._room.is_apart(work_class, want) or (
            self._owed.spares(want.project, both) and self._room.has_beside(both, want, work_class)
        ):
            return None
        if user != want.user and self.is_light(want.project, want.user) and not self.is_light(want.project, user):
            return want.job_class, want.priority, -1, ""
        return place(want)

    def is_light(self, project: str, user: str) -> bool:
        """Return True if the user used so little that all jobs of most others of the project come behind theirs."""
        return self._weight(project, user) < LIGHT * self._mean(project)

    def _reserve(self, project: str, work_classes: Iterable[WorkClass], bar: Bar) -> None:
        """Make the reservation of a project, if one of its jobs has the right.

        Of the jobs of one user that ask for the same, only the first can be the first that has it.
        """
        firsts = [
            (job_class, priority, not self.is_light(project, user), order, job, work_class)
            for work_class in work_classes
            for user, ((job_class, priority, order, job), *_) in work_class.users.items()
        ]
        for *_, job, work_class in sorted(firsts, key=lambda row: row[:-1]):
            want = self._index.wants[job]
            found = self.of(want, exact=False)
            if found is None or bar(want, work_class):
                continue
            if found.is_too_long:
                self.reservations[project] = found
                return
            self.wakes.append(self._now + max(LATER, timedelta(seconds=(found.limit_s - found.overtaken_s) / 2)))

    def _overtaken_s(self, want: Want, used: KindWork, *, of_all: bool) -> float:
        """Return the part of the time that a job waits for which jobs behind it got its project's work.

        The work counts of what started since the job waits; `of_all`: of what ran before, too.
        """
        now, since, rank = moment(self._now), moment(want.since), rank_number(want.job_class, want.priority)
        started = {number: table.after(since, now) for number, table in used.starts.items()}
        total = used.used(now) - used.used_by(since) if of_all else sum(started.values())
        if total <= 0:
            return 0.0
        behind = sum(work for number, work in started.items() if number >= rank)
        if not self.is_light(want.project, want.user):
            later = sum(table.after(want.order, now) for number, table in used.orders.items() if number >= rank)
            behind = min(behind, later)
        return (now - since) * max(0, min(behind, total)) // total / _SECOND

    def _mean(self, project: str) -> float:
        """Return the mean use of the project's users, of those who wait or hold something."""
        if project not in self._means:
            users = self._users_of(project)
            self._means[project] = sum(self._weight(project, user) for user in sorted(users)) / len(users)
        return self._means[project]

    def _users_of(self, project: str) -> set[str]:
        if not self._users:
            for name, user in self._index.users:
                self._users.setdefault(name, set()).add(user)
            for name, work_classes in self._index.work_classes.items():
                self._users.setdefault(name, set()).update(*(one.users for one in work_classes.values()))
        return self._users[project]
