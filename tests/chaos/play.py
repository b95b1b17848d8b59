"""One round: a seeded row of acts on a town at work, each after so many lines more; then peace, and the verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.chaos import acts, verdict
from tests.chaos.acts import Act, Harmed
from tests.chaos.store import Store, opened
from tests.chaos.town import LOOK_S, PATIENCE_S, Failed, Town

DENSE, HITCH = 0.3, 0.15


@dataclass
class Round:
    """What is to be done, and what was."""

    store: str
    seed: int
    kills: int
    pauses: int
    did: list[str] = field(default_factory=list)
    killed: int = 0
    paused: int = 0
    jobs: int = 0
    lines: int = 0


def play(plan: Round, home: Path) -> list[str]:
    """Play one round. What is wrong afterwards; nothing if all is well."""
    random = Random(plan.seed)
    with opened(plan.store, home, plan.seed) as store, _town(home, store, random) as town:
        try:
            chaos = _Chaos(plan, town, random)
            chaos.begin()
            chaos.reign()
            chaos.make_peace()
            wrong = verdict.wrong(town, chaos.harmed)
        except Failed as failed:
            wrong = [str(failed)]
        plan.did += [store.told()]
        plan.jobs, plan.lines = len(town.done()), town.printed()
        return wrong + (verdict.story(town) if wrong else [])


@contextmanager
def _town(home: Path, store: Store, random: Random) -> Iterator[Town]:
    town = Town(home, store, random)
    try:
        yield town
    finally:
        for process in [*town.bastions, *([town.client] if town.client else [])]:
            process.kill()
            process.wait()


class _Chaos:
    def __init__(self, plan: Round, town: Town, random: Random) -> None:
        self.harmed = Harmed()
        self._plan, self._town, self._random = plan, town, random
        self._deck: list[Act] = []
        self._due = 0
        self._wake_at: int | None = None
        self._acted = time.monotonic()

    def begin(self) -> None:
        """Jobs print; then the weather begins."""
        self._await(lambda: self._town.printed() > 0, "first line")
        self._town.store.storm()

    def reign(self) -> None:
        """All acts. They are due by lines, not by seconds: so jobs are always at it."""
        while not self._done():
            self._town.tend()
            printed = self._town.printed()
            self._see_to_sleeper(printed)
            if printed >= self._due and (self._kills_left() or (self._pauses_left() and not self.harmed.sleeper)):
                act = self._draw()
                if self._do(act):
                    dense = self._random.random() < DENSE
                    self._due = printed + (self._random.randrange(1, 10) if dense else self._random.randrange(20, 200))
                elif act in acts.KILLS:
                    self._deck.insert(0, act)  # there was nobody to do it to: later
            if time.monotonic() - self._acted > PATIENCE_S:
                raise Failed(f"for {PATIENCE_S:.0f} s nothing could be done, at line {printed} of {self._due}")
            time.sleep(0.02)

    def make_peace(self) -> None:
        """No more faults; whoever is at work ends it."""
        town = self._town
        town.store.clear_up()
        town.open_for_work = False
        (town.home / "go").touch()
        self._await(lambda: town.client is None, "end of the last client")
        woken = [sleeper.process for sleeper in self.harmed.woken]
        self._await(lambda: all(process.poll() is not None for process in woken), "end of all who were deposed")
        self._await(lambda: verdict.all_ended(town), "end of all jobs", every_s=0.5)

    def _await(self, condition: Callable[[], bool], what: str, every_s: float = LOOK_S) -> None:
        def tended() -> bool:
            self._town.tend()
            return condition()

        self._town.await_until(tended, what, every_s)

    def _kills_left(self) -> int:
        return max(0, self._plan.kills - self._plan.killed)

    def _pauses_left(self) -> int:
        return max(0, self._plan.pauses - self._plan.paused)

    def _done(self) -> bool:
        return not self._kills_left() and not self._pauses_left() and not self.harmed.sleeper

    def _see_to_sleeper(self, printed: int) -> None:
        """Wake it some lines after another one has taken over."""
        sleeper = self.harmed.sleeper
        if sleeper is None or self._town.epoch() <= sleeper.epoch:
            return
        if self._wake_at is None:
            self._wake_at = printed + self._random.randrange(1, 200)
        elif printed >= self._wake_at:
            self._wake_at = None
            self._do(acts.wake)

    def _draw(self) -> Act:
        """The next act: pauses are spread over the kills."""
        random, pauses, kills = self._random, self._pauses_left(), self._kills_left()
        if self.harmed.sleeper is None and pauses and random.random() < pauses / max(1, kills):
            return acts.pause_active
        if random.random() < HITCH:
            return random.choice(acts.HITCHES)
        if not self._deck:
            self._deck = [act for act in acts.KILLS if self._town.store.breaks or act is not acts.kill_server]
            random.shuffle(self._deck)
        return self._deck.pop()

    def _do(self, act: Act) -> bool:
        done = act(self._town, self.harmed)
        if done:
            self._acted = time.monotonic()
            self._plan.did.append(f"{time.strftime('%H:%M:%S')} at line {self._town.printed()}: {done}")
            self._plan.killed += done.startswith("kill -9")
            self._plan.paused += done.startswith("SIGSTOP")
        return bool(done)
