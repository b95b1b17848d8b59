"""Replay seeds: `python -m tests.sim --seed 97` tells the story of one, `python -m tests.sim --seeds 0-200` runs many."""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from bastion.own_log import told
from tests.sim.broken import Broken
from tests.sim.world import World, run


def main() -> int:
    """0 if no law was broken."""
    flags = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    flags.add_argument("--seed", type=int, help="one seed, with its story")
    flags.add_argument("--seeds", default="0-200", help="FROM-TO, without TO")
    asked = flags.parse_args()
    if asked.seed is not None:
        return story(asked.seed)
    first, last = map(int, asked.seeds.split("-"))
    return many(range(first, last))


def story(seed: int) -> int:
    """Run one seed and print each event of the journal as it is written."""
    world = World(seed)
    world.laws.listener = lambda event: print(f"{world.kernel.now:9.2f} {told(event)}")
    try:
        world.run()
    except Broken as broken:
        print(f"seed {seed} breaks a law at {world.kernel.now:.0f} s: {broken}")
        return 1
    print(f"seed {seed} keeps every law")
    return 0


def many(seeds: range) -> int:
    """Run many seeds; print those that broke a law, and what was seen on the way."""
    broken, seen = 0, Counter[str]()
    for seed in seeds:
        try:
            seen += run(seed).seen
        except AssertionError as error:
            broken += 1
            print(error)
    print(f"{len(seeds)} seeds, {broken} broken: {dict(seen)}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
