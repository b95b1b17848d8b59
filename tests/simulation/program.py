"""Bastions of a simulated world: the real code behind a shaky view of the fleet and a clock that is wrong."""

from __future__ import annotations

from datetime import datetime, timedelta

from bastion.journal import snapshot
from bastion.model import layout
from bastion.model.errors import JournalEndLost, LeadershipLost, NewerVersion, RecordError
from bastion.model.interfaces import StoredObject
from bastion.model.version import JOURNAL, STATUS
from bastion.service import loop
from tests.simulation.bastions import SimBastion
from tests.simulation.cloud import Cloud, ShakyRunner
from tests.simulation.line import WeatherLine
from tests.simulation.parts.broken import Fell
from tests.simulation.parts.kernel import Life, SimClock
from tests.simulation.parts.store import SimBucket
from tests.simulation.scene import Scene

SMALL_S = 55.0
"""So wrong a clock may always be: nobody minds."""

SKEW = 0.02
"""The part by which a clock may run too fast or too slow."""


class WrongClock(SimClock):
    """A clock that runs too fast or too slow, and whose time of day is wrong, by an amount that jumps."""

    def __init__(self, scene: Scene, line: WeatherLine) -> None:
        super().__init__(scene.kernel)
        self._scene = scene
        self.wrong_s = self._usual_s = line.dice.choice([0.0, line.dice.uniform(-SMALL_S, SMALL_S)])
        self._jumps = 0
        self.rate = 1 + line.dice.choice([0.0, line.dice.uniform(-SKEW, SKEW)])

    def jump(self, seconds: float, until: float) -> None:
        """Be wrong by so much, until somebody sets it right."""
        self._jumps += 1
        number, self.wrong_s = self._jumps, seconds

        def right() -> None:
            if number == self._jumps:  # the end of an earlier jump does not end a later one
                self.wrong_s = self._usual_s

        self._scene.kernel.spawn(Life(), right, until - self._scene.kernel.now)

    def wall(self) -> datetime:
        return super().wall() + timedelta(seconds=self.wrong_s)

    def monotonic(self) -> float:
        return super().monotonic() * self.rate

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / self.rate)


class OldBucket(SimBucket):
    """The bucket as a program of an older version sees it: what others wrote into it has a newer schema."""

    def __init__(self, scene: Scene, line: WeatherLine) -> None:
        super().__init__(scene.store, line)
        self._own: set[str] = set()

    def create(self, key: str, data: bytes) -> str | None:
        version = super().create(key, data)
        self._own |= {key} if version else set()
        return version

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        found = super().read(key, limit)
        if key in self._own or not key.startswith((layout.JOURNAL, layout.STATUS)):
            return found
        known = JOURNAL if key.startswith(layout.JOURNAL) else STATUS
        ours, newer = f'"schema":{known}'.encode(), f'"schema":{known + 1}'.encode()
        return StoredObject(found.data.replace(ours, newer, 1), found.version)


class Program(SimBastion):
    """A bastion on bad ground. `older`: its code is of an older version than that of all others."""

    def __init__(self, scene: Scene, cloud: Cloud, *, older: bool = False, takeover: bool = False) -> None:
        super().__init__(scene, f"host{len(scene.lives) % 2}")
        self.line = WeatherLine(scene, f"bastion {self.pid}", self.life)
        self.clock = WrongClock(scene, self.line)
        self.older = older
        self._scene, self._cloud, self._takeover = scene, cloud, takeover
        scene.kernel.spawn(self.life, self._run)

    def _run(self) -> None:
        scene, line = self._scene, self.line
        bucket = OldBucket(scene, line) if self.older else SimBucket(scene.store, line)
        runners = [ShakyRunner(name, scene, self._cloud, line, lambda: self.epoch) for name in scene.fleet]
        doors = self.doors(bucket, runners, self.clock, lambda: snapshot.make(bucket), self.clock.rate)
        try:
            if self.begin(doors, takeover=self._takeover):
                self._go_on()
        except NewerVersion:
            if not self.older:
                raise
            scene.trace.seen["too old"] += 1
        except (JournalEndLost, RecordError) as lost:
            scene.laws.rollback.refuses(lost)
            if self.bastion is not None and isinstance(lost, JournalEndLost):
                self.bastion.give_up(lost)
            scene.trace.seen["refused"] += 1
        except LeadershipLost as deposed:
            if not scene.laws.rollback.lost and "wrote journal object" not in str(
                deposed
            ):  # the journal itself deposes, whoever wrote there
                scene.laws.trust.gives_up(self.epoch, scene.laws.epochs)
            scene.trace.seen["deposed"] += 1
        self.end()

    def _go_on(self) -> None:
        bastion = self.bastion
        assert bastion is not None
        while True:
            loop.turn(bastion)
            self._scene.laws.rollback.works(self.epoch, self.pid, self._scene.kernel.now)
            if "tick" in bastion.problems and not self.older:
                raise Fell(f"a tick of epoch {self.epoch} fell: {bastion.problems['tick']}")
            self.compare()
            bastion.context.tasks.wait(bastion.idle_s())
