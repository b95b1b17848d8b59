"""What all in a simulated world share: its kernel and store, its machines, its weather, its laws."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import accumulate
from random import Random

from bastion.model import layout
from bastion.model.interfaces import Machine
from bastion.model.job.spec import JobSpec
from bastion.model.state.state import JobState
from tests.simulation.laws.bloat import LIMITS, BloatLaws
from tests.simulation.laws.laws import Laws
from tests.simulation.parts.host import SimHost, SimProcess
from tests.simulation.parts.kernel import Kernel, Life
from tests.simulation.parts.pace import CAPACITY, FLEETS
from tests.simulation.parts.plan import RATES, Plan
from tests.simulation.parts.store import Store

CONFIG = b'poll = 5\nreclaim_delay = 20\nadmins = ["root"]\n'
IMPATIENT = b"gang_patience = 60\n"
QUOTA = b"""
[toml-schema]
version = "1"
[total_resources]
v4 = 6
v5p = 4
[project_membership]
red = ["ann", "amy"]
blue = ["bob"]
[project_resources.red]
v4 = 0.5
v5p = 0.4
[project_resources.blue]
v4 = 0.5
v5p = 0.4
"""
WALLS = b'runners = ["local", "spot"]\nplacing = {v4 = ["local", "spot"]}\n'
TIERS = b"[[total_resources]]\nv4 = 3\nv5p = 4\n[[total_resources]]\nv4 = 3\n"

APPENDS, LISTINGS = (20.0, 1.0), (10.0, 0.5)
"""How many appends to the journal, and how many listings of machines, take a second in a world, about.

Where both are slow they overlap: what a listing leads to must not come before what is being appended.
"""

RARE = frozenset({JobState.PREEMPTING, JobState.CANCELLING})
RARE_TRIES = 3
"""So often luck is tried while a job is in a state that lasts only for moments."""


class Scene:
    """Calm, then the storm of the plan, then calm. `lives` are those of the bastions, by their pid.

    `fleet` is what each runner holds, one for each tier; `owners` has the runner of each machine. `spoofs` are things of
    others, which every runner lists under names of ours.

    `appends` and `listings`: how many of these take a second.

    `rests_at`: when all that the storm has begun is over. `changed`: since laws were last checked, something they look at.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.kernel = Kernel(plan.seed)
        self.trace = self.kernel.trace
        self.store = Store(self.kernel)
        self.fleet = FLEETS[plan.walls]
        self.laws = Laws(CAPACITY, self.fleet, gentle=not any(fault in plan.rates for fault in RATES["call"]))
        self.laws.inputs.writers = self.store.writers
        self.store.watchers.append(lambda verb, key, data: self.laws.written(verb, key, data, self.kernel.now))
        self.rests_at = self.storm_over_at = 0.0
        pace = self.dice("pace")
        self.appends, self.listings = pace.choice(APPENDS), pace.choice(LISTINGS)
        self.blind_until = dict.fromkeys(self.fleet, 0.0)
        self.hosts: dict[str, SimHost] = {}
        self.owners: dict[str, str] = {}
        self.spoofs: dict[str, Machine] = {}
        self.scripts: dict[str, Callable[[SimProcess], int]] = {}
        self.lives: list[Life] = []
        self.acknowledged: set[str] = set()
        self.specs: dict[str, JobSpec] = {}
        self.requests: dict[str, str] = {}
        self.changed = True
        self.faults = 0
        self._tables = {call: _table(faults, plan) for call, faults in RATES.items()}
        self.config = CONFIG + WALLS if plan.walls else CONFIG
        if any(act.kind == "sizes" for act in plan.acts):
            self.config = IMPATIENT + self.config
        if any(act.kind == "bloat" for act in plan.acts):
            self.config, self.laws.bloat = self.config + LIMITS, BloatLaws()
        self.quota = QUOTA.replace(b"[total_resources]\nv4 = 6\nv5p = 4\n", TIERS) if plan.walls else QUOTA
        self.store.put("write", layout.CONFIG, self.config)
        self.store.put("write", layout.QUOTA, self.quota)

    @property
    def stormy(self) -> bool:
        """Faults happen."""
        return self.plan.begins <= self.trace.steps < self.plan.ends and not self.laws.rollback.lost

    @property
    def calm(self) -> bool:
        """The storm and all that it began is over."""
        return self.trace.steps >= self.plan.ends and self.kernel.now >= self.rests_at

    def dice(self, whose: str) -> Random:
        """Dice that nobody else throws."""
        return Random(f"{self.plan.seed} {whose}")

    def luck(self, call: str, dice: Random, where: str) -> str:
        """The fault that befalls this call; empty if none does."""
        if not self.stormy:
            return ""
        bounds, faults = self._tables[call]
        for _ in range(RARE_TRIES if self.laws.states & RARE else 1):
            index = bisect_right(bounds, dice.random())
            if index < len(faults) and self.strikes(faults[index], where):
                return faults[index]
        return ""

    def strikes(self, fault: str, where: str) -> bool:
        """Note a fault, unless the plan mutes it."""
        self.faults += 1
        if self.faults in self.plan.muted:
            return False
        self.trace.fault(fault, f"#{self.faults} {where}")
        for state in self.laws.states:
            self.trace.seen[f"{fault} x {state}"] += 1
        return True

    def lasts(self, seconds: float) -> float:
        """Something begins that lasts so long: when it is over."""
        until = self.kernel.now + seconds
        self.rests_at = max(self.rests_at, until)
        return until


def _table(faults: Mapping[str, tuple[float, ...]], plan: Plan) -> tuple[list[float], list[str]]:
    """The faults that are on, and the bounds between their chances: in all one call in ten goes well at least."""
    on = [fault for fault in faults if fault in plan.rates]
    bounds = list(accumulate(plan.rates[fault] for fault in on))
    scale = min(1.0, 0.9 / bounds[-1]) if bounds else 1.0
    return [bound * scale for bound in bounds], on
