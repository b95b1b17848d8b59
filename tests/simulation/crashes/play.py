"""One play of a scenario, to the moment when nothing stirs any more."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from bastion.journal.recover import unpack_snapshot
from bastion.model import layout
from bastion.model.codec import decode
from bastion.model.job.start_conditions import conditions
from bastion.model.state.state import Job
from bastion.model.stored.status import Status
from bastion.service import admin_files
from tests.simulation.crashes import relation
from tests.simulation.crashes.ends import outcome
from tests.simulation.crashes.outcome import Outcome
from tests.simulation.crashes.services import Service
from tests.simulation.crashes.stage import Stage, Tell
from tests.simulation.crashes.taps import Call, Crash
from tests.simulation.crashes.users import Cut, GaveUp, Users
from tests.simulation.laws.laws import digest
from tests.simulation.laws.replay import replays
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.kernel import Event, Life, SimClock

REST_S = 6.0
"""What is at rest has to stay so for this long."""

LIMIT_S = 600.0
"""Who is not at rest so long after the end of the story never will be."""

_PASSING = (layout.INBOX, layout.BEATS, layout.FACTS)
"""What is not for long."""


class Story(Users):
    """What a scenario's function is given: users, bastions and machines, and words to wait with."""

    def __init__(self, stage: Stage, cut: Cut | None, hosts: int) -> None:
        super().__init__(stage, cut)
        self.stage = stage
        self.services: list[Service] = []
        for number in range(hosts):
            Service(stage, f"host{number}", self.services)
        self.ends: list[Callable[[], object]] = []

    def until_written(self, job: str, lines: int = 1, *, attempt: int | None = None) -> None:
        """Until a process of the job has written so many lines."""

        def written() -> bool:
            return any(
                text.count("\n") >= lines
                for (key, _), text in self.stage.printed.items()
                if key.job == job and attempt in (None, key.attempt)
            )

        self.stage.until(lambda: written() or self.ended(job), f"{job} wrote {lines} lines")

    def until(self, job: str, *states: str) -> None:
        """Until the job stands in one of these states."""
        self.stage.until(lambda: (found := self.job(job)) and found.state in states, f"{job} is {states}")

    def job(self, job: str) -> Job | None:
        """What the journal says of it."""
        return self.stage.laws.truth.jobs.get(job)

    def ended(self, job: str) -> bool:
        """It is over."""
        found = self.job(job)
        return found is not None and found.ended is not None

    def moment(self, seconds: float) -> datetime:
        """So long after the beginning of the world."""
        return SimClock(self.stage.kernel).wall() + timedelta(seconds=seconds - self.stage.kernel.now)

    def at_work(self) -> Service:
        """The one whose bastion took over last."""
        status = decode(self.stage.store.objects[layout.STATUS][0], Status, layout.STATUS)
        return next(s for s in self.services if s.process and s.process.pid == status.pid)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.stage.kernel.sleep(seconds)

    def end_machine(self, job: str, worker: int = 0) -> None:
        """The machine of this worker dies."""
        for host in self.stage.hosts.values():
            if host.there and (host.machine.key.job, host.machine.worker) == (job, worker):
                self.stage.hurt.add((host.machine.key, worker))
                host.kill()


@dataclass(frozen=True, slots=True)
class Scenario:
    """A story, named as its function. `hosts`: how many keep a bastion; `before`: what was before it began."""

    story: Callable[[Story], None]
    hosts: int = 1
    before: Callable[[Stage], None] = lambda _: None

    @property
    def name(self) -> str:
        """One word."""
        return self.story.__name__


@dataclass(frozen=True, slots=True)
class Played:
    """A play: its calls until all was at rest, what it came to, and which laws it broke.

    `fell`: the processes that were made to fall, by name. `cut`: where its story ended, if a user gave up.
    """

    calls: tuple[Call, ...]
    outcome: Outcome | None
    broken: tuple[str, ...]
    fell: tuple[str, ...]
    cut: Cut | None
    seconds: float


def play(
    scenario: Scenario, crashes: Sequence[Crash] = (), *, cut: Cut | None = None, tell: Tell | None = None
) -> Played:
    """Play it once."""
    return _Play(scenario, Stage(crashes, tell), cut).run()


class _Play:
    def __init__(self, scenario: Scenario, stage: Stage, cut: Cut | None) -> None:
        self._stage, self._scenario = stage, scenario
        scenario.before(self._stage)
        self._story = Story(self._stage, cut, scenario.hosts)
        self._told, self._over = Event(self._stage.kernel), False
        self._rested: tuple[float, int] | None = None

    def run(self) -> Played:
        """To the end."""
        stage, found = self._stage, None
        broken: list[str] = []
        for work in (self._tell, self._watch):
            stage.kernel.spawn(Life(), work)
        try:
            if not stage.kernel.run(lambda: self._over, math.inf):
                raise Broken("nothing happens any more")
            found = outcome(stage)
            broken += relation.logs(found, stage.printed, stage.hurt)
            broken += self._snapshots()
            replays(stage.store)
        except (Broken, Exception) as error:
            broken.append(f"{type(error).__name__} at {stage.kernel.now:.0f} s: {error}")
        finally:
            for service in self._story.services:
                service.end()
            stage.kernel.end()
        at, count = self._rested or (stage.kernel.now, len(stage.tape.calls))
        return Played(
            calls=tuple(stage.tape.calls[:count]),
            outcome=found,
            broken=tuple(broken),
            fell=tuple(stage.tape.fell),
            cut=self._story.cut,
            seconds=at,
        )

    def _tell(self) -> None:
        with suppress(GaveUp):
            self._scenario.story(self._story)
        if not any(service.wanted for service in self._story.services):  # whoever stopped it gave up
            self._story.services[0].start()
        self._told.set()

    def _watch(self) -> None:
        kernel = self._stage.kernel
        self._told.wait()
        end = kernel.now + LIMIT_S
        while not self._over:
            kernel.sleep(1.0)
            if kernel.now > end:
                raise Broken(f"not at rest {LIMIT_S:.0f} s after the end of the story: {'; '.join(self._stirring())}")
            if any(self._stirring()):
                self._rested = None
            elif self._rested is None:
                self._rested = kernel.now, len(self._stage.tape.calls)
            self._over = self._rested is not None and kernel.now - self._rested[0] >= REST_S

    def _stirring(self) -> Iterator[str]:
        """What keeps it from being at rest."""
        stage, truth = self._stage, self._stage.laws.truth
        if not self._told.is_set or stage.tape.late or stage.coming:
            yield "the story goes on, or something is on its way"
        yield from (key for key in stage.store.objects if key.startswith(_PASSING))
        yield from (f"machine {name}" for name, host in stage.hosts.items() if host.there)
        yield from (f"{job.id} is {job.state}" for job in truth.jobs.values() if not self._rests(job))
        if not (all(service.alive for service in self._story.services) and self._at_work()):
            yield "no bastion is at work, or it has some trouble"
        for name, key in admin_files.KEYS.items():
            if name not in truth.files or truth.files[name].version != str(stage.store.objects[key][1]):
                yield f"{key} is not read"
        yield from ("the end of the story" for end in self._story.ends if not end())

    def _at_work(self) -> bool:
        """Who took over last has said so, lives, and has no trouble but with a file that is broken."""
        if layout.STATUS not in self._stage.store.objects:
            return False
        status = decode(self._stage.store.objects[layout.STATUS][0], Status, layout.STATUS)
        truth, alive = self._stage.laws.truth, self._stage.lives[status.pid].alive
        broken = sum(bool(file.problem) for file in truth.files.values())
        return alive and status.epoch == truth.epoch and len(status.problems) == broken

    def _rests(self, job: Job) -> bool:
        """It has ended, or nothing will happen to it by itself."""
        truth = self._stage.laws.truth
        if job.ended or job.id in truth.live:
            return job.ended is not None
        waits = [truth.jobs[each.job] for each in conditions(job.after)]
        return job.held is not None or truth.paused is not None or (bool(waits) and all(map(self._rests, waits)))

    def _snapshots(self) -> Iterator[str]:
        """A snapshot is the fold of the journal up to it."""
        for key, (data, _, _) in self._stage.store.objects.items():
            if layout.is_snapshot(key):
                state = unpack_snapshot(data, key)
                if digest(state) != self._stage.laws.digests[state.seq - 1]:
                    yield f"{key} is not the fold of the journal"
