"""What must come true in bounded time once the storm is over: guarantees, cancels, gangs, leftovers, and nothing idle.

A condition may last for so many seconds and no longer. It is looked at every few seconds, in the world's own time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bastion.model import layout
from bastion.model.state.state import AttemptState, Cause, Job, State
from bastion.quota.demand import CLASSES, STANDARD
from bastion.quota.resources import Resources, fits, minus, plus, total
from bastion.quota.shares import Shares, amounts
from bastion.schedule.lifecycle import FORMING
from bastion.schedule.plan import inputs
from bastion.service.reconcile import OVERTIME, STRAY_S
from tests.simulation.laws.waiting import is_ready, keeps_from
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.kernel import START
from tests.simulation.scene import Scene

LOOK_S = 5.0
"""Between two looks at the conditions."""

SETTLE_S = 120.0
"""From the end of the storm until a bastion is at work again, and has seen where all stands."""

TICK_S = 5.0

GRACE_S = 40.0
"""The longest notice that any job of a simulated world has."""

STOP_S = GRACE_S + OVERTIME.total_seconds() + 6 * TICK_S
"""From the journal's word to stop until the machines are known to be gone: a stop that is not heeded is overdue first."""

START_S = 2 * TICK_S + 10.0
"""From free room until somebody has started in it: two ticks, and what the append takes."""

COLLECT_S = STRAY_S + 2 * 10.0 + 10.0
"""The age at which a stray is one, two turns of the collector, and what its calls take."""

RECLAIM_S = 40.0
"""The longest `reclaim_delay` of the settings of a simulated world."""

ENDS_S = 30.0
"""So long what is promised to a job is kept while it comes free piece by piece, by the time limits of others."""

RIGHT_S = 150.0
"""From the right of an overtaken job until it starts: what runs of its project has ended by then."""

RESTS_FROM, REST_S = 3, 90.0
"""Who was stopped for others so often is lent nothing for so long, doubled with each stop but the first."""

SLOW = 0.98
"""The rate of the slowest clock of a bastion."""

Condition = tuple[str, float]
"""What is so, and for how many seconds it may be."""


@dataclass(slots=True)
class CalmLaws:
    """Remembers since when what is so."""

    scene: Scene
    since: dict[str, float] = field(default_factory=dict)
    _looked: float = 0.0

    def check(self) -> bool:
        """True if it was time to look. Raises `Broken`. Nothing counts before the storm is over, and all has settled."""
        now = self.scene.kernel.now
        if not self.scene.calm or now - self._looked < LOOK_S:
            return False
        self._looked = now
        there = dict(self._conditions())
        self.since = {what: self.since.get(what, now) for what in there}
        settled = max(self.scene.rests_at, self.scene.storm_over_at) + SETTLE_S
        for what, since in self.since.items():
            if now - max(since, settled) > there[what]:
                raise Broken(f"{what}, for {now - since:.0f} s in calm weather")
        return True

    def _conditions(self) -> Iterator[Condition]:
        yield from self._leftovers()
        yield from self._attempts()
        if self.scene.laws.truth.paused is None:
            yield from self._idle()
        if self.scene.laws.truth.paused is None and not self.scene.plan.walls:
            yield from self._kept_from()
            yield from self._overtaken()

    def _leftovers(self) -> Iterator[Condition]:
        """Nothing lies unread; and no machine outlives the attempt that it was made for."""
        for key in self.scene.store.found(layout.INBOX, ""):
            yield f"{key} lies in the inbox", 6 * TICK_S
        for name, host in self.scene.hosts.items():
            attempt = self.scene.laws.truth.attempt(host.machine.key) if host.there else None
            if host.there and (attempt is None or attempt.state is AttemptState.ENDED):
                yield f"machine {name} is there, and its attempt is over", COLLECT_S

    def _attempts(self) -> Iterator[Condition]:
        """Gangs form in time or are given up; what is to stop stops in time."""
        for key, job, attempt in self.scene.laws.truth.live_attempts():
            if attempt.state is AttemptState.STARTING:
                yield f"{key} is forming", FORMING.total_seconds() + START_S
            if attempt.state is AttemptState.STOPPING:
                yield f"{key} is stopping", STOP_S
            if job.cancelled_by:
                yield f"{key} runs though its job is cancelled", STOP_S + START_S

    def _idle(self) -> Iterator[Condition]:
        """No room stays empty while somebody fits it.

        What is kept is not: for a next try, for whom others were stopped, or from jobs of a project for one before them.
        """
        state = self.scene.laws.truth
        attempts = state.live_attempts()
        if state.reclaims or any(attempt.state is AttemptState.STOPPING for _, _, attempt in attempts):
            return
        now, kept = self._now(), self.scene.laws.kept
        free = [
            minus(
                minus(capacity, total(job.demand for _, job, attempt in attempts if attempt.runner == runner)),
                kept.held(runner, state, now),
            )
            for runner, capacity in self.scene.fleet.items()
        ]
        within = self._within()
        ready = list(self._ready())
        promised = {job.id for job in ready if within(job, job.demand)}
        for job in ready:
            soon = ENDS_S if promised - {job.id} else 0.0
            fitting = [
                demand for demand in demands(state, job) if any(fits(demand, side) for side in free[: job.max_tier + 1])
            ]
            rests = now < rests_until(job) and not any(within(job, demand) for demand in fitting)
            if fitting and not rests and not keeps_from(job, state, now, free):
                yield f"{job.id} waits at {state.seq} while {free} is free", START_S + soon

    def _kept_from(self) -> Iterator[Condition]:
        """A project whose share is not used gets it back from those that borrow."""
        within, state, now = self._within(), self.scene.laws.truth, self._now()
        for job in self._ready():
            claims = within(job, job.demand) and CLASSES.index(job.job_class) <= STANDARD
            if claims and not keeps_from(job, state, now):
                starts = self.scene.laws.starts_of[job.project]
                yield (
                    f"{job.project} is kept from its share by others, after {starts} starts",
                    RECLAIM_S + STOP_S + START_S,
                )

    def _overtaken(self) -> Iterator[Condition]:
        """A job that was overtaken for too long starts soon.

        This does not hold with walls: a project's share is promised of all tiers together, not of each.
        """
        for job, _, _ in self.scene.laws.waiting.overtaken(self.scene.laws.truth, self._now()):
            yield f"{job.id} waits though its project overtook it for too long", RIGHT_S

    def _within(self) -> Callable[[Job, Resources], bool]:
        """Whether so much more for a job is promised to its project: within its share, or the one task of an unused share."""
        state, used = self.scene.laws.truth, dict[str, dict[str, int]]()
        for _, job, _ in state.live_attempts():
            used[job.project] = plus(used.get(job.project, {}), job.demand)
        quota = inputs(state).quota
        if quota is None:
            return lambda job, demand: False
        shares = Shares(quota, self.scene.laws.capacity)
        return lambda job, demand: shares.due(job.project, used.get(job.project, {}), amounts(demand))

    def _now(self) -> datetime:
        """What the slowest clock of a bastion says, that began at the journal's last word."""
        laws = self.scene.laws
        began = laws.truth.now or START
        return began + timedelta(seconds=(self.scene.kernel.now - laws.told_at) * SLOW)

    def _ready(self) -> Iterator[Job]:
        """The jobs of which a task could start now, were there room."""
        state, now = self.scene.laws.truth, self._now()
        return (job for name in state.pending if is_ready(job := state.jobs[name], state, now))


def demands(state: State, job: Job) -> list[Resources]:
    """What would do for one more task of a job: any of its choices, unless some of it holds one."""
    return [choice.demand for choice in job.choices if job.id not in state.live] or [job.demand]


def rests_until(job: Job) -> datetime:
    """Until when nothing beyond its project's share is lent to it, because it was stopped for others."""
    tasks = [job.tasks[number].attempts for number in job.waiting]
    stops = max((sum(each.cause is Cause.PREEMPTED for each in attempts) for attempts in tasks), default=0)
    gone = [attempts[-1].ended or START for attempts in tasks if attempts[-1].cause is Cause.PREEMPTED]
    return max(gone) + timedelta(seconds=rest_s(stops)) if gone else START


def rest_s(stops: int) -> float:
    """How long the rest is that follows on so many stops."""
    return REST_S * 2 ** (stops - 1) if stops >= RESTS_FROM else 0.0
