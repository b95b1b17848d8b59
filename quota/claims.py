"""What the scheduler is asked and what it answers: who waits, who holds, who starts, who stops, and why. Pure.

Of wants and holds a hundred thousand are made for each decision: they are structs, which are made twelve times as fast
as dataclasses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from quota.model import Quota
from quota.resources import Resources


class Want(Struct, frozen=True, kw_only=True, gc=False):
    """A job with tasks that wait to start.

    `demand` is of one task with all its replicas, `priority` 1 is the best, `order` the job's place in the journal,
    `count` the waiting tasks, `since` when it began to wait.
    """

    job: str
    project: str
    user: str
    demand: Resources
    priority: int
    order: int
    since: datetime
    count: int = 1


class Hold(Struct, frozen=True, kw_only=True, gc=False):
    """One attempt that holds resources of a tier since it started; `stopping` ones hold them until confirmed gone."""

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


@dataclass(frozen=True, slots=True)
class Start:
    """Start one more waiting task of the job on this tier."""

    job: str
    tier: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Stop this task's attempt for the sake of `for_job`; None if it is for nobody's sake (the pool shrank)."""

    job: str
    task: int
    for_job: str | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What to do now.

    `starts` are in the order of decision, one for each task. `reasons` has one line for every job with tasks that
    still wait, those of a project in the order in which they were considered. `again` is the next moment at which time
    alone may change the answer; None if it cannot.
    """

    starts: tuple[Start, ...] = ()
    stops: tuple[Stop, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    again: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """`reclaim_delay_s`: a job waits at least this many seconds before others are stopped for it."""

    reclaim_delay_s: float = 90.0


class Policy(Protocol):
    """Decides whose turn it is: same values in, same answer out, in whatever order wants and holds come.

    `pool` is what each tier holds now (see `quota.tiers.pool`). `reclaims` are the jobs, oldest decision first, for
    which others were stopped (`Stop.for_job`) and which have not started since: what is free or being freed is kept
    for them. Jobs in it that no longer wait are ignored.
    """

    def __call__(
        self,
        *,
        wants: Iterable[Want],
        holds: Iterable[Hold],
        reclaims: tuple[str, ...],
        quota: Quota,
        pool: tuple[Resources, ...],
        now: datetime,
        knobs: Knobs,
    ) -> Schedule:
        """The starts, stops and reasons of this moment."""
