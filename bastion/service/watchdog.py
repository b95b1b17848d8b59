"""What stands still that ought to move, and what to do about it, for `bastion status`. Pure: it remembers only since when.

Every bound is behind the latest moment at which the design itself acts; so whatever is named here is broken or unheard of.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

from bastion.quota.resources import text

from ..model.interfaces import AttemptKey
from ..model.state.state import Attempt, AttemptState, Job, State
from ..model.wording import clock
from ..schedule.lifecycle import FORMING, forming_since

MARGIN = timedelta(minutes=5)
"""Behind a deadline of ours: time for a bucket that is away a while, and for a backend that takes its time."""

GONE_S = 600.0
UNDECIDED_S = 300.0
REQUEST_S = 600.0
TASK_S: Mapping[str, float] = {"snapshot": 900.0, "consumed": 3600.0, "retire": 3600.0, "folders": 3600.0}
TASK_USUAL_S = 300.0
"""A call to a store is given up after a minute, and a task makes a few one after the other; these make thousands."""

LAG_S = 30.0
LAG_SHOWN_S = 600.0
SHOWN = 20


@dataclass(slots=True, kw_only=True)
class Vitals:
    """How the last ticks went; times are monotonic. `decided` is when nothing was left to decide, `lag` when a slow tick
    ended, with its length. `overlooked` are jobs that may start and that the schedule does not know.
    """

    decided: float
    lag: tuple[float, float] | None = None
    overlooked: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView:
    """What a bastion sees of itself, at `now` by its time and `at` by its monotonic clock.

    `due`: the schedule should be asked again. `tasks` run and `requests` lie unread since then, by that clock.
    """

    state: State
    now: datetime
    at: float
    runners: Collection[str]
    vitals: Vitals
    due: bool
    tasks: Mapping[str, float] = field(default_factory=dict)
    requests: Mapping[str, float] = field(default_factory=dict)


class Watchdog:
    """Tells what stands still. Since when an attempt has had nothing to run is only known here."""

    def __init__(self) -> None:
        self._over: dict[AttemptKey, float] = {}

    def stalls(self, scene: ServiceView) -> list[str]:
        """A line each for the first twenty, the bastion's own first."""
        live = scene.state.live_attempts()
        over = [key for key, _, attempt in live if all(w.over or w.cause is not None for w in attempt.workers)]
        self._over = {key: self._over.get(key, scene.at) for key in over}
        found = [*_own(scene), *_overlooked(scene)]
        for key, job, attempt in live:
            found += islice(self._attempt(scene, key, job, attempt), 1)
        more = [f"{len(found) - SHOWN} more stand still"] if len(found) > SHOWN else []
        return [*found[:SHOWN], *more]

    def _attempt(self, scene: ServiceView, key: AttemptKey, job: Job, attempt: Attempt) -> Iterator[str]:
        machines = ", ".join(worker.machine for worker in attempt.workers if worker.machine and not worker.over)
        where = f"its machine {machines}" if machines else "a machine of it"
        if attempt.runner not in scene.runners:
            yield (
                f"{key} holds {text(job.demand)} on the runner {attempt.runner}, which is not configured: nobody can say when "
                f"{where} is gone; configure that runner again"
            )
        since = forming_since(attempt)
        if attempt.state is AttemptState.STARTING and not attempt.waits_for and scene.now > since + FORMING + MARGIN:
            yield f"{key} has been starting since {clock(since, scene.now)}; see bastion logs, and restart the bastion"
        late = attempt.deadline is not None and scene.now > attempt.deadline + MARGIN
        if attempt.state is AttemptState.STOPPING and late:
            assert attempt.deadline is not None
            yield (
                f"{key} was to end by {clock(attempt.deadline, scene.now)}, and {attempt.runner} does not say that {where} is "
                f"gone; end it there by hand"
            )
        if (over := self._over.get(key)) is not None and scene.at - over > GONE_S:
            yield (
                f"{key} ended {_minutes(scene.at - over)} ago, and {attempt.runner} does not say that {where} is gone; "
                "end it there by hand"
            )


def _own(scene: ServiceView) -> Iterator[str]:
    vitals, at = scene.vitals, scene.at
    if scene.due and scene.state.pending and at - vitals.decided > UNDECIDED_S:
        waiting, first = len(scene.state.pending), next(iter(scene.state.pending))
        yield (
            f"nothing has been decided for {_minutes(at - vitals.decided)}; {waiting} jobs wait, {first} the first of them; "
            "see whether the runner answers, and bastion logs"
        )
    for name, since in scene.tasks.items():
        if at - since > TASK_S.get(name.partition(" ")[0], TASK_USUAL_S):
            yield f"the task '{name}' has not returned for {_minutes(at - since)}; restart the bastion: what runs goes on"
    if vitals.lag is not None and at - vitals.lag[0] < LAG_SHOWN_S:
        yield (
            f"a tick took {vitals.lag[1]:.0f} s, {_minutes(at - vitals.lag[0])} ago; see whether its machine has processor, "
            "memory and a bucket to spare"
        )
    stuck = {key: since for key, since in scene.requests.items() if at - since > REQUEST_S}
    if stuck:
        oldest = min(stuck, key=lambda key: (stuck[key], key))
        yield (
            f"{len(stuck)} requests have had no answer for {_minutes(at - stuck[oldest])}, {oldest} the first of them; "
            "if it cannot be read, remove it"
        )


def _overlooked(scene: ServiceView) -> Iterator[str]:
    if jobs := scene.vitals.overlooked:
        yield (
            f"{len(jobs)} jobs may start and are not considered, {jobs[0]} the first of them; restart the bastion, and "
            "report this"
        )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min"
