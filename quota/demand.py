"""The input and the output of the scheduler: wants, holdings, and a schedule of starts, stops and moves. Pure.

Each decision may need a hundred thousand wants and holdings. They are structs, because a struct is made twelve times
as fast as a dataclass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from msgspec import Struct

from .resources import Resources

CLASSES = ("urgent", "standard", "scavenger")
"""The classes of jobs across projects, best first. An admin grants `urgent`; anybody may use `scavenger`."""

STANDARD = CLASSES.index("standard")

RULES = 5
"""The newest version of the default policy's rules. A marked decision is replayed by the rules that it was made by.

1: each share is rounded down for itself.
2: shares are given out whole, and a share of which nothing is used is good for one task.
3: what a user holds in a project that they left is borrowed.
4: what a failed try held is kept for the next one.
5: a job of any size earns a right by being overtaken.
"""

LEFT = 3
"""From these rules on, what users hold who left a project does not count as use of the project."""

KEPT = 4
"""From these rules on, room is kept between two tries of a task, so that no other job takes it in its turn."""

OVERTAKEN = 5
"""From these rules on, what a project gives to jobs behind one that waits counts, and not only how long it waits."""


class Want(Struct, frozen=True, kw_only=True, gc=False):
    """A job with tasks that wait to start.

    job: the id of the job.
    project: the project of the job.
    user: the user of the job.
    demand: units by kind of one task with all its replicas, in the shape numbered `choice`.
    priority: the priority inside the project; 1 is the best.
    order: the place of the job in the journal; the smaller is the older.
    since: when the job began to wait.
    count: the number of waiting tasks.
    job_class: an index into `CLASSES`.
    max_tier: the worst tier that the job takes; None: any.
    time_limit_s: seconds after which a task gives back what it holds; None: not known.
    stops: how often a waiting task was stopped for others, for the task with the most such stops.
    waited_s: seconds that a task waited before, summed over its earlier tries; of all waiting tasks the most.
    stopped: when the last of the tasks that wait because they were stopped for others was gone; None: there are none.
    choice: the number of the shape that `demand` belongs to.
    choices: the demands of all shapes that will do, best first; empty if there is only one.
    """

    job: str
    project: str
    user: str
    demand: Resources
    priority: int
    order: int
    since: datetime
    count: int = 1
    job_class: int = STANDARD
    max_tier: int | None = None
    time_limit_s: float | None = None
    stops: int = 0
    waited_s: float = 0.0
    stopped: datetime | None = None
    choice: int = 0
    choices: tuple[Resources, ...] = ()


class Holding(Struct, frozen=True, kw_only=True, gc=False):
    """One attempt that holds resources of a tier, or a failed one whose resources are kept for the next try.

    job: the id of the job.
    project: the name that holds the resources: the project, or that of users who left it (`Quota.holder`).
    user: the user of the job.
    demand: units by kind that the attempt holds.
    priority: the priority inside the project; 1 is the best.
    order: the place of the job in the journal; the smaller is the older.
    since: when the attempt started; with `retry`, when it failed.
    task: the number of the task in its job.
    tier: the tier that the held resources are named after.
    stopping: True while the attempt is being stopped. It holds its resources until it is confirmed gone.
    job_class: an index into `CLASSES`.
    max_tier: the worst tier that the job takes; None: any.
    saved: when it last wrote a checkpoint; None: never, so a stop loses all work since the start.
    every_s: seconds between the checkpoints that are to be expected; None: not known.
    stops: how often the task was stopped for others before.
    until: when the attempt ends at the latest; None: not known.
    overdue: True if the attempt is of a gang that was overdue when it started.
    retry: when the next try begins; None: the attempt lives. With it, nothing of the attempt runs any more.
    """

    job: str
    project: str
    user: str
    demand: Resources
    priority: int
    order: int
    since: datetime
    task: int = 0
    tier: int = 0
    stopping: bool = False
    job_class: int = STANDARD
    max_tier: int | None = None
    saved: datetime | None = None
    every_s: float | None = None
    stops: int = 0
    until: datetime | None = None
    overdue: bool = False
    retry: datetime | None = None

    def unsaved_s(self, now: datetime) -> float:
        """Return the seconds of its work that no checkpoint holds, if it went on saving at its pace."""
        if self.retry is not None:
            return 0.0
        begun = foreseen(self.saved, self.every_s, now) if self.saved and self.saved >= self.since else self.since
        return max(0.0, (now - begun).total_seconds())


def foreseen(last: datetime, every_s: float | None, now: datetime) -> datetime:
    """Return the time of the newest checkpoint by `now`, if one follows every `every_s` seconds after `last`.

    If `every_s` is None, no pace is known, and the answer is `last`.
    """
    if every_s is None or now <= last:
        return last
    every = timedelta(seconds=every_s)
    return last + (now - last) // every * every


@dataclass(frozen=True, slots=True)
class Start:
    """The start of one more waiting task of a job.

    job: the id of the job.
    tier: the tier that its resources are named after.
    overdue: True if the task is a gang that had waited for too long.
    choice: the number of the shape in which it starts.
    """

    job: str
    tier: int
    overdue: bool = False
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """The stop of a task's attempt.

    job: the id of the job that is stopped.
    task: the number of the task.
    for_job: the job that the room is meant for; None: no single job, as when the capacity shrank.
    reason: one line for people.
    lost_s: seconds of its work that no checkpoint holds; None: the policy does not count them.
    """

    job: str
    task: int
    for_job: str | None
    reason: str
    lost_s: float | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """The move of a running task to another tier in the accounts. The task itself is not restarted.

    job: the id of the job.
    task: the number of the task.
    tier: the tier that its resources are named after from now on.
    """

    job: str
    task: int
    tier: int


@dataclass(frozen=True, slots=True)
class Overtaken:
    """How far a waiting job is overtaken by jobs of its own project that stand behind it.

    job: the id of the job.
    project: the project of the job.
    user: the user of the job.
    kind: the kind of which it asks for most, as a part of the capacity.
    units: the units of this kind that one task asks for.
    since: when it began to wait.
    overtaken_s: the part of the seconds since then for which jobs behind it got its project's work.
    limit_s: for how many seconds it may be overtaken. Beyond that it has a right to its project's room.
    of_all: the work counts of all that ran since then; else of what started since then.
    """

    job: str
    project: str
    user: str
    kind: str
    units: int
    since: datetime
    overtaken_s: float
    limit_s: float
    of_all: bool

    @property
    def is_too_long(self) -> bool:
        """Return True if the job has the right."""
        return self.overtaken_s > self.limit_s


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """The answer of a policy: what to do now. Do the stops first, then the moves, then the starts.

    starts: one for each task that starts, in the order of decision.
    stops: one for each attempt that is stopped.
    moves: one for each task that moves to another tier.
    again: the next moment at which time alone may change the answer; None: time alone cannot.
    reservations: the job that each project has a reservation for, by project.
    overtaken: a function that says how far a waiting job is overtaken; None: it has no right. Valid as long as `tell`.
    held_back: a function that says whether a waiting job stands behind the reservation of its project. Valid as `tell`.
    tell: the function that makes `reasons`. It is valid only until the index changes.
    """

    starts: tuple[Start, ...] = ()
    stops: tuple[Stop, ...] = ()
    moves: tuple[Move, ...] = ()
    again: datetime | None = None
    reservations: Mapping[str, Overtaken] = field(default_factory=dict, compare=False)
    overtaken: Callable[[str], Overtaken | None] = field(default=lambda job: None, compare=False, repr=False)
    held_back: Callable[[str], bool] = field(default=lambda job: False, compare=False, repr=False)
    tell: Callable[[], Mapping[str, str]] = field(default=dict, compare=False, repr=False)

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """One line for every job with tasks that still wait. The jobs of a project are in the order of their turn.

        The lines are made at the first use, because many callers need only the decision.
        """
        return self.tell()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySettings:
    """The settings of the policy. An admin sets all of them but `rules`.

    reclaim_delay_s: seconds that a job waits at least before others are stopped for it.
    gang_patience_s: a large job waits for twice of it before it takes back what was lent; a job may be overtaken for 0.6 of it.
    restart_cost_s: seconds of work that a stop is assumed to cost, besides the work that was not saved.
    usage_half_life_s: seconds after which past use counts for half as much; 0: past use does not count.
    rules: the version of the rules to decide by. It is older than `RULES` only where an old decision is replayed.
    """

    reclaim_delay_s: float = 90.0
    gang_patience_s: float = 10 * 3600.0
    restart_cost_s: float = 120.0
    usage_half_life_s: float = 7 * 86_400.0
    rules: int = RULES
