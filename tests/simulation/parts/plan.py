"""What a seed has in store: when the storm is, which faults are on and how often, who comes, and what befalls whom.

Swarm testing: each class of faults is on in half of the seeds, at a rate of the seed's own. Everything has dice of its
own, so that a plan with less in it stays the same in the rest: that is how a schedule is shrunk.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

STEPS = 300
"""How long a storm is, if nobody says otherwise."""

CALM_MAX = 700
"""How many steps may pass before the storm begins."""

RATES: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    "call": {
        "fails": (0.01, 0.05, 0.3),
        "lost": (0.01, 0.03, 0.1),
        "late": (0.005, 0.02, 0.05),
        "slow": (0.005, 0.02, 0.1),
        "echo": (0.01, 0.05, 0.2),
        "falls before": (0.002, 0.01, 0.03),
        "falls after": (0.002, 0.01, 0.03),
    },
    "list": {"stale": (0.1, 0.5, 1.0)},
    "fleet": {"blind call": (0.01, 0.05, 0.2), "unanswered": (0.01, 0.05, 0.1)},
    "create": {
        "no quota": (0.1, 0.3),
        "partial": (0.2, 0.6),
        "never": (0.1, 0.3),
        "tardy": (0.1, 0.5),
        "stillborn": (0.1, 0.4),
        "twin": (0.1, 0.4),
        "full": (0.1, 0.4),
        "deaf": (0.1, 0.5),
    },
    "listed": {"hidden": (0.05, 0.3), "ghost": (0.3, 1.0), "dropped": (0.05, 0.3)},
}
"""The faults of each kind of call, with the chances that one call has of it."""

ACTS = (
    "crash pause rival older outage cut blind vanish preempt reboot kill sleep jump tear spoil quota config stranger "
    "twice garbage foreign early pause_all spoof forge clock uid".split()
)
"""What befalls a world beside its calls."""

GAPS = (6, 15, 40, 120)
"""Steps between two acts, about."""


ALONE: Mapping[str, tuple[float, float, int]] = {
    "bloat": (0.2, 0.0, 2),
    "rollback": (0.3, 0.5, 1),
    "members": (0.2, 0.0, 1),
    "contend": (0.4, 0.0, 2),
    "sizes": (0.2, 0.5, 1),
}
"""Acts with dice of their own, so that worlds without them stay what they are: in which part of the seeds they happen, after
which part of the storm at the earliest, and how often.
"""

AIMS = ("", "", "RUNNING", "PREEMPTING", "CANCELLING")
"""States that acts wait for: what lasts only for moments would seldom be met."""

AIM_STEPS = 200
"""So long an act waits for its state at most."""


class Act(NamedTuple):
    """Something that happens at a step, with dice of its own; with an `aim` later, once a job is in that state."""

    step: int
    kind: str
    seed: int
    aim: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A storm of so many `steps` that begins after some. `muted` are the numbers of faults that are left out.

    `upgrade`: the first bastion is of an older version than all others. `walls`: the tiers are of several runners.
    """

    seed: int
    begins: int
    steps: int
    rates: Mapping[str, float]
    acts: tuple[Act, ...]
    users: tuple[Act, ...]
    upgrade: bool = False
    walls: bool = False
    muted: frozenset[int] = frozenset()

    @property
    def ends(self) -> int:
        """The first step of the calm."""
        return self.begins + self.steps


def draw(seed: int, steps: int | None = None) -> Plan:
    """The plan of a seed, for a storm of so many steps."""
    rng, length = Random(f"plan {seed}"), STEPS if steps is None else steps
    begins = rng.choice([0, rng.randrange(CALM_MAX)])
    return Plan(
        seed=seed,
        begins=begins,
        steps=length,
        rates=_rates(rng),
        acts=(*_acts(rng, begins, length), *_alone(seed, begins, length)),
        users=_users(rng, begins, length),
        upgrade=rng.random() < 0.3,
        walls=rng.random() < 0.3,
    )


def _rates(rng: Random) -> dict[str, float]:
    drawn = {
        fault: (rng.random() < 0.5, rng.choice(rates)) for kinds in RATES.values() for fault, rates in kinds.items()
    }
    return {fault: rate for fault, (on, rate) in drawn.items() if on}


def _acts(rng: Random, begins: int, steps: int) -> tuple[Act, ...]:
    kinds = [kind for kind in ACTS if rng.random() < 0.5] or ["crash"]
    gap, acts, step = rng.choice(GAPS), list[Act](), begins
    while (step := step + 1 + int(rng.expovariate(1 / gap))) < begins + steps:
        acts.append(Act(step, rng.choice(kinds), rng.getrandbits(32), rng.choice(AIMS)))
    return tuple(acts)


def _alone(seed: int, begins: int, steps: int) -> Iterator[Act]:
    for kind, (part, earliest, times) in ALONE.items():
        rng = Random(f"{kind} {seed}")
        for _ in range(times if rng.random() < part else 0):
            step = begins + int(steps * rng.uniform(earliest, 1))
            yield Act(step, kind, rng.getrandbits(32))


def _users(rng: Random, begins: int, steps: int) -> tuple[Act, ...]:
    """Some come early, and some while it storms."""
    count = rng.randint(2, 4) + min(10, steps // 150)
    whens = [rng.choice([0, begins // 2, begins, begins + rng.randrange(max(1, steps))]) for _ in range(count)]
    return tuple(Act(step, "user", rng.getrandbits(32)) for step in sorted(whens))
