"""What the scheduler is asked and what it answers: who waits, who holds, who starts, who stops, and why. Pure.

Of wants and holds a hundred thousand are made for each decision: they are structs, which are made twelve times as fast
as dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from msgspec import Struct

from .resources import Resources

CLASSES = ("urgent", "standard", "scavenger")
"""The classes of jobs across projects, best first. An admin grants `urgent`; `scavenger` is for whoever wants it."""

STANDARD = CLASSES.index("standard")

RULES = 4
"""The newest rules of the default policy. Each marked decision is replayed by the rules that it was taken by.

1: each share is rounded down for itself. 2: shares are given out whole, a share of which nothing is used is good for one
task. 3: what a user holds in a project that they left is borrowed. 4: what a failed try held is kept for the next one.
"""

LEFT = 3
"""From these rules on what those hold who left a project is none of its use."""

KEPT = 4
"""From these rules on nobody slips in between two tries of a task."""


class Want(Struct, frozen=True, kw_only=True, gc=False):
    """A job with tasks that wait to start.

    `demand` is of one task with all its replicas, `priority` 1 is the best, `order` the job's place in the journal,
    `count` the waiting tasks, `since` when it began to wait. `job_class` is a place in `CLASSES`, `max_tier` the worst
    tier that it takes (None: any). `time_limit_s` bounds how long a task holds what it is given, if that is known.
    `stops` says how often its most often preempted waiting task was stopped for others, and `stopped` when the last of
    those that wait for that reason was gone (None: none does); `waited_s` for how long it had waited before, each time
    until it started. `choices` are the demands that would do, the best first, if there are several; `demand` is that of
    the `choice`.
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
    """One attempt that holds resources of a tier since it started; `stopping` ones hold them until confirmed gone.

    `saved` is when it wrote a checkpoint (None: never, so all since its start would be lost), and more are to be expected,
    one in `every_s` (None: nobody knows when). `stops` is how often its task was stopped for others before, `until` when
    it ends at the latest, if that is known. `overdue`: it had waited for too long when it started. With a time for its
    `retry` it has failed, `since` then: nothing of it runs, and what it held is kept for its next try, which begins then.
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
        """Seconds of its work that no checkpoint holds, if it went on saving at its pace."""
        if self.retry is not None:
            return 0.0
        begun = foreseen(self.saved, self.every_s, now) if self.saved and self.saved >= self.since else self.since
        return max(0.0, (now - begun).total_seconds())


def foreseen(last: datetime, every_s: float | None, now: datetime) -> datetime:
    """The newest checkpoint by now, if they go on from this one at this pace (None: at none that is known)."""
    if every_s is None or now <= last:
        return last
    every = timedelta(seconds=every_s)
    return last + (now - last) // every * every


@dataclass(frozen=True, slots=True)
class Start:
    """Start one more waiting task of the job on this tier, in the shape of this choice. `overdue`: it is a gang that had
    waited for too long.
    """

    job: str
    tier: int
    overdue: bool = False
    choice: int = 0


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop this task's attempt for the sake of `for_job`; None if it is for nobody's sake (the pool shrank).

    `lost_s` are the seconds of its work that no checkpoint holds.
    """

    job: str
    task: int
    for_job: str | None
    reason: str
    lost_s: float | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """Name what a task's attempt holds after another tier from now on. It runs on."""

    job: str
    task: int
    tier: int


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """What to do now: the stops, then the moves, then the starts.

    `starts` are in the order of decision, one for each task. `again` is the next moment at which time alone may change
    the answer; None if it cannot. `tell` makes the reasons; it holds only until the board changes.
    """

    starts: tuple[Start, ...] = ()
    stops: tuple[Stop, ...] = ()
    moves: tuple[Move, ...] = ()
    again: datetime | None = None
    tell: Callable[[], Mapping[str, str]] = field(default=dict, compare=False, repr=False)

    @cached_property
    def reasons(self) -> Mapping[str, str]:
        """One line for every job with tasks that still wait, those of a project in the order in which they stand.

        Readers ask for them; who only decides does without.
        """
        return self.tell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What an admin sets, in seconds.

    `reclaim_delay_s`: a job waits at least this long before others are stopped for it. `gang_patience_s`: a gang is
    overtaken for this long before it calls in what was lent. `restart_cost_s`: work that a stop is taken to cost beside
    what was not saved. `usage_half_life_s`: after it past use counts for half as much; 0: it does not count.
    `rules` are those to decide by: older ones only where an older decision is taken again.
    """

    reclaim_delay_s: float = 90.0
    gang_patience_s: float = 10 * 3600.0
    restart_cost_s: float = 120.0
    usage_half_life_s: float = 7 * 86_400.0
    rules: int = RULES
