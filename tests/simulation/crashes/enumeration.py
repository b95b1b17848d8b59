"""All crashes of a scenario: every process, at each of its calls, before, after and with the call on its way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from tests.simulation.crashes.play import Played, Scenario, play
from tests.simulation.crashes.relation import complaints
from tests.simulation.crashes.scenarios import SCENARIOS
from tests.simulation.crashes.taps import LOOKS, Crash, Side
from tests.simulation.crashes.users import Cut

SLACK_S = 200.0
"""How much longer than undisturbed it may take for each crash, until all is at rest."""

Plan = tuple[Crash, ...]


@dataclass(slots=True)
class Recorded:
    """A scenario, and how it goes undisturbed: to its end, and to every cut that a user's giving up has made so far."""

    scenario: Scenario
    calm: Played = field(init=False)
    _cuts: dict[Cut | None, Played] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.calm = self._undisturbed(None)

    def singles(self) -> Iterator[Plan]:
        """Every crash by itself."""
        for number, call in enumerate(self.calm.calls):
            for crash in call.crashes(number):
                yield (crash,)

    def telling(self) -> Iterator[Plan]:
        """The crashes that differ: who falls after a call that only looked leaves the world as who falls before it."""
        for (crash,) in self.singles():
            if crash.side is not Side.AFTER or self.calm.calls[crash.call].verb not in LOOKS:
                yield (crash,)

    def pairs(self, rng: Random) -> Iterator[Plan]:
        """Two crashes without end, drawn at random: the second at any call of what goes on after the first."""
        singles = list(self.singles())
        while True:
            (first,) = rng.choice(singles)
            calls = play(self.scenario, (first,)).calls
            if first.call + 1 < len(calls):
                number = rng.randrange(first.call + 1, len(calls))
                yield first, rng.choice(list(calls[number].crashes(number)))

    def violations(self, plans: Iterable[Plan]) -> Iterator[str]:
        """A line for each play that did not end as it could have, with what it takes to see it again."""
        for plan in plans:
            if wrong := self.wrong(plan):
                yield f"--scenario {self.scenario.name} --crash {' '.join(map(str, plan))}: {'; '.join(wrong)}"

    def wrong(self, plan: Plan) -> list[str]:
        """What is wrong with the play in which these crashes happen."""
        played, first = play(self.scenario, plan), plan[0].call
        if played.calls[first] != self.calm.calls[first]:
            return [f"call {first} is {played.calls[first]}; undisturbed: {self.calm.calls[first]}"]
        if played.outcome is None:
            return list(played.broken)
        calm = self._undisturbed(played.cut)
        assert calm.outcome is not None
        found = list(played.broken)
        found += complaints(
            calm.outcome,
            played.outcome,
            spare=sum(name.startswith("worker") for name in played.fell),
            client_fell=any(name.startswith("client") for name in played.fell),
        )
        if played.seconds > calm.seconds + SLACK_S * len(plan):
            found.append(f"at rest after {played.seconds:.0f} s; undisturbed after {calm.seconds:.0f}")
        return found

    def _undisturbed(self, cut: Cut | None) -> Played:
        if cut not in self._cuts:
            calm = play(self.scenario, cut=cut)
            if calm.broken:
                raise AssertionError(f"{self.scenario.name}, undisturbed up to {cut}: {calm.broken}")
            self._cuts[cut] = calm
        return self._cuts[cut]


@dataclass(frozen=True, slots=True)
class Counted:
    """What was done with one scenario, and a line for each play that ended badly."""

    name: str
    calls: int
    crashes: int
    pairs: int
    violations: tuple[str, ...]


def crash_all(name: str, pairs: int, seed: int) -> Counted:
    """All crashes of a scenario, and so many pairs."""
    recorded = Recorded(SCENARIOS[name])
    singles = list(recorded.singles())
    doubles = list(islice(recorded.pairs(Random(f"{seed} {name}")), pairs))
    wrong = tuple(recorded.violations([*singles, *doubles]))
    return Counted(name, len(recorded.calm.calls), len(singles), len(doubles), wrong)
