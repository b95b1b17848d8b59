"""Bastions of a scenario, each kept alive by its host as a service is."""

from __future__ import annotations

from bastion.journal import snapshot
from bastion.model.errors import BastionError, LeadershipLost
from tests.simulation.bastions import SimBastion
from tests.simulation.crashes.machines import AGAIN_S, TappedRunner
from tests.simulation.crashes.stage import Stage
from tests.simulation.crashes.taps import Actor, Fate
from tests.simulation.parts.kernel import Event, Life, SimClock


class Child:
    """A process that writes a snapshot for a bastion. It outlives the one that waits for it."""

    def __init__(self, stage: Stage) -> None:
        self._life, self._ended, self._fell = Life(), Event(stage.kernel), False
        self._stage = stage
        self._bucket = stage.bucket(Actor("snapshot", (Fate.KILLED,), self._fall))

    def run(self) -> None:
        """Wait for its end. Raises `BastionError` if it fell."""
        self._stage.kernel.spawn(self._life, self._work)
        self._ended.wait()
        if self._fell:
            raise BastionError("the snapshot failed: killed")

    def _work(self) -> None:
        snapshot.make(self._bucket)
        self._ended.set()

    def _fall(self, _: Fate) -> None:
        self._fell = True
        self._life.end()
        self._ended.set()


class Process(SimBastion):
    """A bastion on doors that the tape listens at."""

    def __init__(self, stage: Stage, host: str, fates: tuple[Fate, ...]) -> None:
        super().__init__(stage, host)
        self.ended, self.fate = Event(stage.kernel), Fate.KILLED
        self.stopping = False
        self._stage = stage
        self._actor = Actor(f"bastion {self.pid}", fates, self.fall)
        stage.kernel.spawn(self.life, self._run)

    def fall(self, fate: Fate) -> None:
        """Nothing of it runs on."""
        self.fate = fate
        self.end()
        self.ended.set()

    def _run(self) -> None:
        stage = self._stage
        runner = TappedRunner(stage, self._actor, lambda: self.epoch)
        doors = self.doors(stage.bucket(self._actor), [runner], SimClock(stage.kernel), lambda: Child(stage).run())
        try:
            if self.begin(doors, stopping=lambda: self.stopping):
                self._go_on()
        except LeadershipLost:
            stage.seen["deposed"] += 1
        self.fall(Fate.KILLED)

    def _go_on(self) -> None:
        bastion = self.bastion
        assert bastion is not None
        while not self.stopping:
            bastion.tick()
            self.compare()
            bastion.context.tasks.wait(bastion.idle_s())
        bastion.close()


class Service:
    """A host that starts its bastion again whenever it has ended. Of all of them one is never lost."""

    def __init__(self, stage: Stage, host: str, all_of_them: list[Service]) -> None:
        self.process: Process | None = None
        self._stage, self._host, self._all = stage, host, all_of_them
        all_of_them.append(self)
        self._wanted = Event(stage.kernel)
        self.start()
        stage.kernel.spawn(Life(), self._keep)

    @property
    def wanted(self) -> bool:
        """There is to be a bastion here."""
        return self._wanted.is_set

    @property
    def alive(self) -> bool:
        """A bastion of this host is there, at work or standing by; or none is wanted."""
        return not self.wanted or (self.process is not None and not self.process.ended.is_set)

    @property
    def _fates(self) -> tuple[Fate, ...]:
        return (Fate.KILLED, Fate.LOST) if self._others() else (Fate.KILLED,)

    def _others(self) -> bool:
        return any(other is not self and other.wanted for other in self._all)

    def start(self) -> None:
        """Have a bastion here."""
        self._wanted.set()

    def stop(self) -> None:
        """Ask the bastion to stop, and start no other."""
        self._wanted.clear()
        if self.process is not None:
            self.process.stopping = True

    def lose(self) -> None:
        """The host dies."""
        self._wanted.clear()
        if self.process is not None:
            self.process.fall(Fate.LOST)

    def _keep(self) -> None:
        while True:
            self._wanted.wait()
            self.process = Process(self._stage, self._host, self._fates)
            self.process.ended.wait()
            if self.process.fate is Fate.LOST and self._others():
                self._wanted.clear()
            self._stage.kernel.sleep(AGAIN_S)

    def end(self) -> None:
        """The play is over."""
        if self.process is not None:
            self.process.end()
