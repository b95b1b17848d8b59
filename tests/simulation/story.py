"""The story of one world: each event of the journal as it is written, each fault as it strikes, and the law that broke."""

from __future__ import annotations

from collections.abc import Callable

from bastion.journal.own_log import told as told_event
from tests.simulation.parts.broken import Broken
from tests.simulation.parts.plan import Plan
from tests.simulation.shrink import Outcome, Shrinker, play, told
from tests.simulation.world import World


def tell(plan: Plan, say: Callable[[str], None]) -> Outcome:
    """Run a plan, and say what happens. How it went."""
    world = World(plan)
    world.laws.listener = lambda event: say(f"{world.kernel.now:10.2f} s  {told_event(event)}")
    world.trace.listener = lambda line: say(f"{world.kernel.now:10.2f} s    {line}")
    try:
        world.run()
    except Broken as broken:
        say(f"{world.kernel.now:10.2f} s  BROKEN: {broken}")
        return Outcome(str(broken), world.faults)
    say(f"{world.kernel.now:10.2f} s  all has ended, after {world.trace.steps} steps; run {world.trace.digest()}")
    return Outcome("", world.faults)


def replay(plan: Plan, say: Callable[[str], None]) -> bool:
    """The story of a plan; if a law breaks, of the smallest storm that breaks it. True if no law was broken."""
    outcome = play(plan)
    if not outcome.broken:
        tell(plan, say)
        say(f"seed {plan.seed} keeps every law")
        return True
    say(f"seed {plan.seed} breaks a law: {outcome.broken}")
    say(f"as drawn:  {told(plan)}")
    small = Shrinker(plan, outcome.law).shrink()
    say(f"shrunk to: {told(small)}")
    tell(small, say)
    return False
