"""A world from one seed: bastions that crash and sleep, a fleet that is late and lies, users who change their minds.

The bastion, its journal, its reconciling, the worker and the client are the real code; the bucket, the clock, the
machines and the processes are simulated.
"""

from __future__ import annotations

import logging

from bastion.model import layout
from bastion.schedule.lifecycle import FORMING
from tests.simulation.calm_laws import SETTLE_S, STOP_S, CalmLaws, rest_s
from tests.simulation.chaos import Chaos
from tests.simulation.fleet_laws import FleetLaws
from tests.simulation.laws.replay import replays
from tests.simulation.log_laws import LogLaws
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.plan import Plan, draw
from tests.simulation.scene import Scene

TASK_S = 180.0
"""The most that one try of a task takes in calm weather, from its start to the next one's."""

RESTS_S = 7200.0
"""What was on its way when a loss was accepted rests after this time; new ghosts and delays come with each listing."""

RESUMED_S = 300.0
"""So long a world goes on after a loss that was accepted."""

BACKOFF_S = 900.0
"""The longest wait after a loss."""


class World(Scene):
    """Runs one plan: calm, then a storm, then calm until all has ended."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self._chaos = Chaos(self)
        self._fleet, self._calm = FleetLaws(self), CalmLaws(self)
        self.store.watchers.append(LogLaws(self).written)
        self._may_be_over = True
        self.laws.alive = lambda name: name in self.hosts and self.hosts[name].there

    def run(self) -> None:
        """To the end. Raises `Broken`. What bastions log goes to their own logs only."""
        log, nobody = logging.getLogger("bastion"), logging.NullHandler()
        log.propagate, before = False, log.propagate
        log.addHandler(nobody)
        try:
            self._run()
        finally:
            log.propagate = before
            log.removeHandler(nobody)
            self._chaos.hush()

    def _run(self) -> None:
        while not self.kernel.run(self._step, 60.0):
            if not self.laws.rollback.lost and self.calm and self.kernel.now > self._deadline():
                raise Broken(f"never ends: {self._what_is_left()}")
        if not self.laws.rollback.lost:
            self.trace.seen["decision"] += replays(self.store)
        self.trace.seen["overtaken"] += len(self.laws.waiting.met)
        self.trace.seen["other choice"] += sum(map(bool, self.laws.choices.choices.values()))

    def _step(self) -> bool:
        """After each step: what is due, what is checked, and whether all is over."""
        if self._chaos.due:
            self._chaos.act()
        if self.laws.rollback.lost:
            return self._is_resumed()
        if self.changed or self.laws.grown:
            self._fleet.check()
            self.changed = self.laws.grown = False
            self._may_be_over = True
        if self.trace.steps < self.plan.ends:
            self.storm_over_at = self.kernel.now
            return False
        self._may_be_over |= self._calm.check()
        if not (self._may_be_over and self._chaos.over and self.calm):
            return False
        self._may_be_over = False
        return not self._what_is_left()

    def _is_resumed(self) -> bool:
        """A loss was accepted, and a bastion has been at work for long enough since. Raises `Broken` if that takes too long."""
        rollback, now = self.laws.rollback, self.kernel.now
        if rollback.resumed_at is not None:
            return now - rollback.resumed_at > RESUMED_S
        at = rollback.accepted_at
        if at is not None and now > min(max(at, self.rests_at), at + RESTS_S) + SETTLE_S:
            raise Broken("a loss was accepted, and nobody goes on from there")
        return False

    def _deadline(self) -> float:
        """When all must have ended: all that there was to do, one task after the other, and each waited for once.

        Who was stopped for others rests before it borrows again.
        """
        tasks = sum(spec.count * (spec.max_tries + 2) for spec in self.specs.values())
        losses = len({task for task in self.laws.lost if task[0] in self.specs})
        rests = sum(rest_s(stops) for most in self.laws.stops.values() for stops in range(most + 1))
        settled = max(self.rests_at, self.storm_over_at) + SETTLE_S + FORMING.total_seconds() + STOP_S
        return settled + tasks * TASK_S + losses * BACKOFF_S + rests

    def _what_is_left(self) -> list[str]:
        jobs = self.laws.truth.jobs
        left = [f"{job} was lost" for job in self.acknowledged if job not in jobs]
        left += [f"{job.id} is {job.state}" for job in jobs.values() if not job.ended]
        left += [f"{job} was not cancelled" for job in self.laws.cancelled & jobs.keys() if not jobs[job].ended]
        left += [f"machine {name}" for name, host in self.hosts.items() if host.there]
        return left + list(self.store.found(layout.INBOX, ""))


def run(seed: int, steps: int | None = None) -> World:
    """One seed, to the end, with a storm of so many steps. Raises `AssertionError` naming seed and law."""
    world = World(draw(seed, steps))
    try:
        world.run()
    except Broken as broken:
        raise AssertionError(f"seed {seed} at {world.kernel.now:.0f} s: {broken}") from broken
    return world
