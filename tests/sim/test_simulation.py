"""The real bastion, reconciler and worker in 200 simulated worlds: crashes, sleeps, lost answers, late machines, rivals.

A failure names its seed; `python -m tests.sim --seed N` tells its story.
"""

from __future__ import annotations

import hashlib

import pytest

from tests.sim.world import World, run

SEEDS = 200
BATCH = 10


@pytest.mark.parametrize("first", range(0, SEEDS, BATCH))
def test_no_law_is_broken(first: int) -> None:
    for seed in range(first, first + BATCH):
        run(seed)


def test_one_seed_is_one_run() -> None:
    assert _trace(7) == _trace(7)
    assert _trace(7) != _trace(8)


def test_the_worlds_are_as_bad_as_they_claim() -> None:
    seen = sum((run(seed).seen for seed in range(5)), run(5).seen)
    assert {"crash", "pause", "deposed", "vanish", "reboot", "cut", "cancel", "process"} <= seen.keys()
    assert {"hold", "top", "update", "renew", "pause all"} <= seen.keys()


def _trace(seed: int) -> str:
    world, trace = World(seed), hashlib.sha256()
    world.store.watchers.append(lambda verb, key, data: trace.update(f"{verb} {key} {len(data)} ".encode() + data))
    world.run()
    return trace.hexdigest()
