"""The smallest storm that still breaks the same law: fewer classes of faults, fewer acts and users, a shorter storm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from tests.simulation.parts.broken import Broken
from tests.simulation.parts.plan import Plan
from tests.simulation.world import World

T = TypeVar("T")

TRIES = 150
"""Worlds that are run at most."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a plan went: what broke, empty if nothing did; how many faults there were."""

    broken: str
    faults: int

    @property
    def law(self) -> str:
        """What broke, without names and numbers."""
        return re.sub(r"[0-9a-f]*\d[\w./@-]*", "…", self.broken)


def play(plan: Plan) -> Outcome:
    """Run a plan."""
    world = World(plan)
    try:
        world.run()
    except Broken as broken:
        return Outcome(str(broken), world.faults)
    return Outcome("", world.faults)


class Shrinker:
    """Leaves out what the law breaks without, as long as something can be left out. It remembers only the best plan."""

    def __init__(self, plan: Plan, law: str, told: Callable[[str], None] = lambda _: None) -> None:
        self.plan = plan
        self._law, self._told, self._left = law, told, TRIES

    def shrink(self) -> Plan:
        """The smallest plan found."""
        before = None
        while before != self.plan and self._left > 0:
            before = self.plan
            self._drop(lambda plan: sorted(plan.rates), _without_rates)
            self._drop(lambda plan: plan.acts, lambda plan, acts: replace(plan, acts=_others(plan.acts, acts)))
            self._drop(lambda plan: plan.users, lambda plan, users: replace(plan, users=_others(plan.users, users)))
            self._shorten()
            self._mute()
        return self.plan

    def _breaks(self, plan: Plan) -> bool:
        self._left -= 1
        if self._left < 0 or play(plan).law != self._law:
            return False
        self.plan = plan
        self._told(told(plan))
        return True

    def _drop(self, parts: Callable[[Plan], Sequence[T]], without: Callable[[Plan, Sequence[T]], Plan]) -> None:
        """Leave out halves, then quarters, and so on to single ones."""
        size = len(parts(self.plan))
        while size:
            for some in _pieces(parts(self.plan), size):
                self._breaks(without(self.plan, some))
            size //= 2

    def _shorten(self) -> None:
        """End the storm earlier."""
        cut = self.plan.steps // 2
        while cut:
            while self._breaks(replace(self.plan, steps=self.plan.steps - cut)):
                pass
            cut //= 2

    def _mute(self) -> None:
        """Leave out single faults of calls."""
        known = play(self.plan).faults
        self._drop(
            lambda plan: [number for number in range(1, known + 1) if number not in plan.muted],
            lambda plan, numbers: replace(plan, muted=plan.muted | set(numbers)),
        )


def told(plan: Plan) -> str:
    """A plan in a line."""
    acts = ", ".join(f"{act.kind}@{act.step}" for act in plan.acts) or "none"
    faults = ", ".join(f"{fault} {rate:g}" for fault, rate in sorted(plan.rates.items())) or "none"
    muted = f"; {len(plan.muted)} faults muted" if plan.muted else ""
    return f"storm of {plan.steps} steps from {plan.begins}; {len(plan.users)} users; faults: {faults}; acts: {acts}{muted}"


def _pieces(parts: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    for start in range(0, len(parts), size):
        yield parts[start : start + size]


def _others(parts: tuple[T, ...], some: Sequence[T]) -> tuple[T, ...]:
    return tuple(part for part in parts if part not in some)


def _without_rates(plan: Plan, some: Sequence[str]) -> Plan:
    return replace(plan, rates={fault: rate for fault, rate in plan.rates.items() if fault not in some})
