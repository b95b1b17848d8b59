"""`bastion-simulate`: plays one seed and tells its story, or many and says how many broke a law."""

from __future__ import annotations

import argparse
import sys
import time

from tests.simulation.many import Tally, summary, sweep
from tests.simulation.parts.plan import STEPS, draw
from tests.simulation.story import replay

PROGRESS_S = 10.0
"""Between two lines of progress, at least."""


def main(argv: list[str]) -> int:
    """0 if no law was broken, 1 if one was."""
    flags = argparse.ArgumentParser(prog="bastion-simulate", description=__doc__)
    flags.add_argument("--seed", type=int, help="play this seed, and tell its story; shrink the storm if a law breaks")
    flags.add_argument("--seeds", type=int, default=300, help="play so many seeds on all cores (default 300)")
    flags.add_argument("--from", type=int, default=0, dest="first", help="the first of them (default 0)")
    flags.add_argument("--steps", type=int, default=STEPS, help=f"how long the storm of each is (default {STEPS})")
    asked = flags.parse_args(argv)
    if asked.steps < 1 or asked.seeds < 1 or asked.first < 0:
        flags.error("--steps and --seeds are at least 1, --from is at least 0")
    if asked.seed is not None:
        return 0 if replay(draw(asked.seed, asked.steps), print) else 1
    return _many(range(asked.first, asked.first + asked.seeds), asked.steps)


def _many(seeds: range, steps: int) -> int:
    begun = time.monotonic()
    said, shown = begun, 0

    def told(so_far: Tally) -> None:
        nonlocal said, shown
        for broken in so_far.broken[shown:]:
            print(f"{broken}; bastion-simulate --seed={broken.split()[1]} --steps={steps} tells its story", flush=True)
        shown = len(so_far.broken)
        if time.monotonic() - said >= PROGRESS_S:
            said = time.monotonic()
            print(summary(so_far, steps, begun), flush=True)

    tally = sweep(seeds, steps, told)
    faults = {what: count for what, count in sorted(tally.seen.items()) if " x " not in what}
    print("seen: " + ", ".join(f"{what} {count}" for what, count in faults.items()))
    print(summary(tally, steps, begun))
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
