"""Crash every scenario at every call: `python -m tests.simulation.crashes`.

One play, told: `--scenario preempt --crash 31:late:killed`.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from tests.simulation.crashes.enumeration import Plan, Recorded, crash_all
from tests.simulation.crashes.play import play
from tests.simulation.crashes.scenarios import SCENARIOS
from tests.simulation.crashes.taps import Crash


def main() -> int:
    """0 if every play ended as one could have in which nothing fell."""
    flags = argparse.ArgumentParser(prog="python -m tests.simulation.crashes", description=__doc__)
    flags.add_argument("--scenario", choices=SCENARIOS, help="this one only")
    flags.add_argument(
        "--crash", type=Crash.parse, nargs="+", help="tell one play: CALL:SIDE:FATE, as a complaint names it"
    )
    flags.add_argument("--pairs", type=int, default=0, help="so many pairs of crashes of each scenario, too")
    flags.add_argument("--seed", type=int, default=0, help="chooses the pairs")
    asked = flags.parse_args()
    if asked.crash:
        if not asked.scenario:
            flags.error("--crash needs --scenario")
        return tell(asked.scenario, tuple(asked.crash))
    return enumerate_all([asked.scenario] if asked.scenario else list(SCENARIOS), asked.pairs, asked.seed)


def tell(name: str, plan: Plan) -> int:
    """Print the journal of one play as it is written, and what is wrong with it."""
    recorded = Recorded(SCENARIOS[name])
    played = play(SCENARIOS[name], plan, tell=lambda now, event: print(f"{now:9.2f} {event}"))
    for crash in plan:
        print(f"{crash.fate} {crash.side} call {crash.call}, {played.calls[crash.call]}")
    wrong = recorded.wrong(plan)
    print("\n".join(wrong) or "it ended as it could have, had nothing fallen")
    return 1 if wrong else 0


def enumerate_all(names: list[str], pairs: int, seed: int) -> int:
    """Play all, on all processors; the sum of it last."""
    calls = crashes = doubled = broken = 0
    with ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for counted in pool.map(partial(crash_all, pairs=pairs, seed=seed), names):
            print(
                f"{counted.name}: {counted.calls} calls, {counted.crashes} crashes, {counted.pairs} pairs", flush=True
            )
            for line in counted.violations:
                print(line, flush=True)
            calls, crashes = calls + counted.calls, crashes + counted.crashes
            doubled, broken = doubled + counted.pairs, broken + len(counted.violations)
    print(f"{len(names)} scenarios, {calls} calls: {crashes} crashes, {doubled} pairs of crashes, {broken} violations")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
