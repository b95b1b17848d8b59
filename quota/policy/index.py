"""The index of wants and holdings: the cost of a decision grows with the number of shapes, not of jobs. Pure.

An index changes only itself. It lives across decisions: every change is entered at once, in a time that does not grow
with the number of jobs (except to shift memory in a sorted list). It gives the same answers as an index built anew of
the same wants and holdings. Policies only read it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TypeVar

from ..demand import Holding, Want
from ..shares import Demand, amounts

Rank = tuple[int, int]  # class, priority
Place = tuple[int, int, int, str]  # class, priority, order, job: the rank of a want among those of its user
Shape = tuple[Demand, int | None]  # the demand, and the worst tier that will do
Choices = tuple[tuple[Demand, ...], int | None]  # the demands, one of which will do, and the worst tier
Name = tuple[str, int]  # a task: job, number
Book = dict[str, int]  # units by kind
K = TypeVar("K")


class WorkClass:
    """The wants of one project that ask for the same. They differ only in their place in the queue.

    project: the project.
    demand: the units by kind that each task asks for.
    max_tier: the worst tier that will do; None: any.
    users: the wants of each user, in their order.
    sinces: (since, job) of each want, the longest wait first.
    again: (begin, job) of the wants that waited before, too: `began` of the want, earliest first.
    ranks: the number of wants by class and priority.
    tasks: the number of all waiting tasks.
    """

    __slots__ = ("again", "demand", "max_tier", "project", "ranks", "sinces", "tasks", "users")

    def __init__(self, project: str, shape: Shape) -> None:
        self.project = project
        self.demand, self.max_tier = shape
        self.users: dict[str, list[Place]] = {}
        self.sinces: list[tuple[datetime, str]] = []
        self.again: list[tuple[datetime, str]] = []
        self.ranks: dict[Rank, int] = {}
        self.tasks = 0


class WantIndex:
    """The index of all wants and holdings.

    wants: the want of each job.
    choosers: the jobs whose wants have several choices, by these choices.
    holds: the holding of each task.
    kept: what is kept for the next try of a task. It counts in none of the fields below.
    work_classes: the work classes of each project, by shape.
    of: the holdings of each project, by task.
    pending: the units that each project waits for.
    ranks: for each project the number of holdings by class and priority, without those that are being stopped.
    used: the units that each project holds.
    users: the units held by (project, user).
    named: the units held by the tier that they are named after.
    stopping: the part of `used` that is being given back.
    freeing: the part of `named` that is being given back.
    rights: the part of `used` that is held by what started by a right (`Holding.overdue`).
    shapes: for each project the number of holdings by demand.
    """

    def __init__(self) -> None:
        self.wants: dict[str, Want] = {}
        self.choosers: dict[Choices, dict[str, None]] = {}
        self.holds: dict[Name, Holding] = {}
        self.kept: dict[Name, Holding] = {}
        self.work_classes: dict[str, dict[Shape, WorkClass]] = {}
        self.of: dict[str, dict[Name, Holding]] = {}
        self.pending: dict[str, Book] = defaultdict(dict)
        self.ranks: dict[str, dict[Rank, int]] = defaultdict(dict)
        self.used: dict[str, Book] = defaultdict(dict)
        self.users: dict[tuple[str, str], Book] = defaultdict(dict)
        self.named: dict[int, Book] = defaultdict(dict)
        self.stopping: dict[str, Book] = defaultdict(dict)
        self.freeing: dict[int, Book] = defaultdict(dict)
        self.rights: dict[str, Book] = defaultdict(dict)
        self.shapes: dict[str, dict[Demand, int]] = defaultdict(dict)

    @classmethod
    def of_all(cls, wants: Iterable[Want], holds: Iterable[Holding]) -> WantIndex:
        """Build an index of these wants and holdings."""
        index = cls()
        for want in wants:
            index.wait(want)
        for hold in holds:
            index.hold(hold)
        return index

    def wait(self, want: Want) -> None:
        """Enter a want. It replaces a want of the same job."""
        if want.job in self.wants:
            self.wait_no_more(want.job)
        self.wants[want.job] = want
        if want.choices:
            self.choosers.setdefault(choices_of(want), {})[want.job] = None
        self._enter(want)

    def stand(self, want: Want) -> None:
        """Replace the want of a job by one that differs from it only by the choice."""
        self._leave(self.wants[want.job])
        self.wants[want.job] = want
        self._enter(want)

    def _enter(self, want: Want) -> None:
        demand = amounts(want.demand)
        work_classes = self.work_classes.setdefault(want.project, {})
        shape = demand, want.max_tier
        work_class = work_classes.get(shape)
        if work_class is None:
            work_class = work_classes[shape] = WorkClass(want.project, shape)
        insort(work_class.users.setdefault(want.user, []), place(want))
        insort(work_class.sinces, (want.since, want.job))
        if want.waited_s:
            insort(work_class.again, (began(want), want.job))
        work_class.tasks += want.count
        _count(work_class.ranks, rank(want), 1)
        _add(self.pending[want.project], demand, want.count)

    def wait_no_more(self, job: str) -> None:
        """Remove the want of a job, if there is one."""
        want = self.wants.pop(job, None)
        if want is None:
            return
        if want.choices:
            self._choose_no_more(want)
        self._leave(want)

    def _leave(self, want: Want) -> None:
        demand = amounts(want.demand)
        work_classes = self.work_classes[want.project]
        work_class = work_classes[demand, want.max_tier]
        places = work_class.users[want.user]
        del places[bisect_left(places, place(want))]
        del work_class.sinces[bisect_left(work_class.sinces, (want.since, want.job))]
        if want.waited_s:
            del work_class.again[bisect_left(work_class.again, (began(want), want.job))]
        work_class.tasks -= want.count
        _count(work_class.ranks, rank(want), -1)
        if not places:
            del work_class.users[want.user]
        if not work_class.users:
            del work_classes[demand, want.max_tier]
        if not work_classes:
            del self.work_classes[want.project]
        _add(self.pending[want.project], demand, -want.count)

    def _choose_no_more(self, want: Want) -> None:
        group = choices_of(want)
        del self.choosers[group][want.job]
        if not self.choosers[group]:
            del self.choosers[group]

    def work_class(self, want: Want) -> WorkClass:
        """Return the work class of a want."""
        return self.work_classes[want.project][amounts(want.demand), want.max_tier]

    def sizes_differ(self, project: str) -> bool:
        """Return True if the jobs of a project that wait or hold something do not all ask for the same."""
        waiting = {demand for demand, _ in self.work_classes.get(project, ())}
        return len(waiting.union(self.shapes.get(project, ()))) > 1

    def hold(self, hold: Holding) -> None:
        """Enter what a task holds, or what is kept for it. It replaces what the task held before."""
        self.hold_no_more((hold.job, hold.task))
        if hold.retry is not None:
            self.kept[hold.job, hold.task] = hold
            return
        self.holds[hold.job, hold.task] = hold
        self.of.setdefault(hold.project, {})[hold.job, hold.task] = hold
        self._book(hold, 1)

    def hold_no_more(self, name: Name) -> None:
        """Remove what a task holds, or what is kept for it, if there is anything."""
        self.kept.pop(name, None)
        hold = self.holds.pop(name, None)
        if hold is None:
            return
        rows = self.of[hold.project]
        del rows[name]
        if not rows:
            del self.of[hold.project]
        self._book(hold, -1)

    def _book(self, hold: Holding, sign: int) -> None:
        demand = amounts(hold.demand)
        for book in (self.used[hold.project], self.users[hold.project, hold.user], self.named[hold.tier]):
            _add(book, demand, sign)
        if not self.users[hold.project, hold.user]:
            del self.users[hold.project, hold.user]
        if hold.overdue:
            _add(self.rights[hold.project], demand, sign)
        _count(self.shapes[hold.project], demand, sign)
        if hold.stopping:
            _add(self.stopping[hold.project], demand, sign)
            _add(self.freeing[hold.tier], demand, sign)
        else:
            _count(self.ranks[hold.project], rank(hold), sign)


def began(want: Want) -> datetime:
    """Return when a want would have begun to wait if it had waited all its time without a break."""
    return want.since - timedelta(seconds=want.waited_s)


def choices_of(want: Want) -> Choices:
    """Return the demands that will do for a want, and the worst tier."""
    return tuple(map(amounts, want.choices)), want.max_tier


def rank(row: Want | Holding) -> Rank:
    """Return the importance inside the project. The smaller goes first."""
    return (row.job_class, row.priority)


def place(want: Want) -> Place:
    """Return the sort key of a want among those of the same user and project."""
    return (want.job_class, want.priority, want.order, want.job)


def _count(counts: dict[K, int], key: K, change: int) -> None:
    left = counts.get(key, 0) + change
    if left:
        counts[key] = left
    else:
        del counts[key]


def _add(book: Book, demand: Demand, times: int) -> None:
    """Add a demand this many times to the units by kind. A kind with nothing left is dropped."""
    for kind, amount in demand:
        left = book.get(kind, 0) + amount * times
        if left:
            book[kind] = left
        else:
            del book[kind]
