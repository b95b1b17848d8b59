"""Find what should move and does not, and say what to do about it, for `bastion status`. Pure but for itself.

Each bound lies after the latest moment at which the bastion itself acts. So what is named here is a fault, or something
that was not foreseen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from bastion.quota.resources import text

from ..model.interfaces import AttemptKey
from ..model.state.state import Attempt, AttemptState, Job, State
from ..model.wording import clock
from ..schedule.lifecycle import FORMING, forming_since
from .task_results import BackgroundTask, FoldersSwept, JobsRetired, ObjectsRemoved, SnapshotMade, TaskResult

MARGIN = timedelta(minutes=5)
"""Time after one of our deadlines, for a bucket that is away for a while and for a slow backend."""

# Seconds after which each case counts as stalled.
GONE_S = 600.0
UNDECIDED_S = 300.0
REQUEST_S = 600.0
TASK_S: Mapping[type[TaskResult], float] = {
    SnapshotMade: 900.0,
    ObjectsRemoved: 3600.0,
    JobsRetired: 3600.0,
    FoldersSwept: 3600.0,
}
TASK_USUAL_S = 300.0
"""Seconds that a task may take if `TASK_S` does not name it.

A call to a store is given up after a minute, and a usual task makes a few calls in turn. Those in `TASK_S` make
thousands.
"""

LAG_S = 30.0
LAG_SHOWN_S = 600.0
SHOWN = 20


@dataclass(slots=True, kw_only=True)
class TickMeasurements:
    """Measurements of the last ticks. Times are monotonic.

    decided: when the schedule was last up to date.
    lag: when the last slow tick ended, and its length in seconds; None: no tick was slow.
    overlooked: jobs that may start and are missing from the schedule.
    """

    decided: float
    lag: tuple[float, float] | None = None
    overlooked: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceView:
    """The bastion's view of itself at one moment.

    state: the state.
    now: the moment, by the time that decisions use.
    at: the same moment, by the monotonic clock.
    runners: names of the runners that are configured.
    measurements: measurements of the last ticks.
    due: the schedule must be computed again.
    tasks: running tasks, with the monotonic time at which each began.
    requests: keys of requests without an effect, with the monotonic time since when.
    """

    state: State
    now: datetime
    at: float
    runners: Collection[str]
    measurements: TickMeasurements
    due: bool
    tasks: Mapping[BackgroundTask[Any], float] = field(default_factory=dict)
    requests: Mapping[str, float] = field(default_factory=dict)


class Watchdog:
    """The search for what has stopped moving.

    It remembers when each attempt was first seen with no process left to run: the state does not hold that.
    """

    def __init__(self) -> None:
        self._over: dict[AttemptKey, float] = {}

    def stalls(self, scene: ServiceView) -> list[str]:
        """Return one line for each of the first twenty problems, the bastion's own first."""
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
                f"{key} holds {text(job.demand)} on the runner {attempt.runner}, which is not configured: "
                f"the bastion cannot learn when {where} is gone; configure that runner again"
            )
        since = forming_since(attempt)
        if attempt.state is AttemptState.STARTING and not attempt.waits_for and scene.now > since + FORMING + MARGIN:
            yield f"{key} has been starting since {clock(since, scene.now)}; see bastion logs, and restart the bastion"
        late = attempt.deadline is not None and scene.now > attempt.deadline + MARGIN
        if attempt.state is AttemptState.STOPPING and late:
            assert attempt.deadline is not None
            yield (
                f"{key} should have ended by {clock(attempt.deadline, scene.now)}, and {attempt.runner} does not say that "
                f"{where} is gone; end it there by hand"
            )
        if (over := self._over.get(key)) is not None and scene.at - over > GONE_S:
            yield (
                f"{key} ended {_minutes(scene.at - over)} ago, and {attempt.runner} does not say that {where} is gone; "
                "end it there by hand"
            )


def _own(scene: ServiceView) -> Iterator[str]:
    measurements, at = scene.measurements, scene.at
    if scene.due and scene.state.pending and at - measurements.decided > UNDECIDED_S:
        waiting, first = len(scene.state.pending), next(iter(scene.state.pending))
        yield (
            f"nothing has been decided for {_minutes(at - measurements.decided)}; {waiting} jobs wait, first {first}; "
            "check that the runner answers, and see bastion logs"
        )
    for task, since in scene.tasks.items():
        if at - since > TASK_S.get(task.result, TASK_USUAL_S):
            yield f"the task '{task}' has not returned for {_minutes(at - since)}; restart the bastion: what runs goes on"
    if measurements.lag is not None and at - measurements.lag[0] < LAG_SHOWN_S:
        yield (
            f"a tick took {measurements.lag[1]:.0f} s, {_minutes(at - measurements.lag[0])} ago; check that the bastion's "
            "machine has enough CPU and memory, and that the bucket is fast enough"
        )
    stuck = {key: since for key, since in scene.requests.items() if at - since > REQUEST_S}
    if stuck:
        oldest = min(stuck, key=lambda key: (stuck[key], key))
        yield (
            f"{len(stuck)} requests have had no answer for {_minutes(at - stuck[oldest])}, first {oldest}; "
            "if it cannot be read, remove it"
        )


def _overlooked(scene: ServiceView) -> Iterator[str]:
    if jobs := scene.measurements.overlooked:
        yield (
            f"{len(jobs)} jobs may start but are not considered, first {jobs[0]}; restart the bastion, and report this"
        )


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min"
