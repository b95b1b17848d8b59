"""Whatever goes wrong in whatever order: no two gangs of one job are at work at once, and in the end nothing is left."""

from __future__ import annotations

import os
from contextlib import suppress
from random import Random

import pytest

from bastion.errors import RunnerError
from bastion.events import CancelRequested
from bastion.state import ENDED
from tests.google.gces import BULK, ZONE, GceFleet, ground, settings

SEEDS = range(int(os.environ.get("GCE_SCHEDULES", "12")))
JOBS = 3
KINDS = ("instances", "disks", "resourcePolicies")


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_left_and_nothing_runs_twice(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(seed)
    with ground(monkeypatch, settings(tiers=[dice.choice(["spot", "on-demand"])])) as here:
        fleet = GceFleet(here)
        fleet.submit((f"j{n}" for n in range(JOBS)), {"a100": 8}, replicas=dice.choice([1, 2, 3]))
        for _ in range(20):
            _happens(fleet, dice)
            with suppress(RunnerError):  # blind for now
                fleet.turn()
            fleet.clock.sleep(dice.uniform(5, 90))
            fleet.work()
            _no_two_at_work(fleet)
        _calm(fleet)
        for job in fleet.state.jobs.values():
            if job.state not in ENDED:
                fleet.folds(CancelRequested(request=f"c{job.id}", user="ada", job=job.id))
        fleet.goes_on(30, 45)
        assert [here.rows(kind) for kind in KINDS] == [{}, {}, {}]
        assert fleet.state.live_attempts() == []


def _happens(fleet: GceFleet, dice: Random) -> None:
    fake = fleet.ground.fake
    up = [name for name, row in fleet.ground.rows("instances").items() if row["status"] == "RUNNING"]
    match dice.randrange(12):
        case 0 if up:
            fake.preempt(dice.choice(up))
        case 1 if up:
            fake.vanish(dice.choice(up))
        case 2 if up:
            fake.maintain(dice.choice(up), 60)
        case 3:
            fake.faults.come_late(BULK, dice.uniform(10, 600))
        case 4:
            fake.faults.lose_answer("compute.*")
        case 5:
            fake.faults.fail("compute.*ist", 503, times=9)
        case 6:
            fake.faults.leave(ZONE, "a2-*", dice.randrange(3))
        case 7:
            fake.faults.restock(ZONE, "a2-*")
        case 8:
            fake.faults.lag_lists(dice.choice([0, 30, 120]))
        case 9 | 10:
            fleet.restart()
        case 11:
            fake.faults.draw(dice, dice.choice([0.0, 0.1]))


def _no_two_at_work(fleet: GceFleet) -> None:
    """The workers of an attempt that runs are on machines of one creation, and no job has two attempts that live."""
    for key in fleet.running():
        attempt = fleet.state.attempt(key)
        assert attempt is not None
        assert len({worker.machine.split("/")[2] for worker in attempt.workers}) == 1, key
    live = [key.job for key, _, _ in fleet.state.live_attempts()]
    assert len(live) == len(set(live))


def _calm(fleet: GceFleet) -> None:
    fake = fleet.ground.fake
    fake.faults.calm()
    fake.faults.lag_lists(0)
    fake.faults.restock(ZONE, "a2-*")
