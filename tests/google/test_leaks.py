"""The leak test: whatever fails, and wherever the bastion is killed, nothing is left behind, and nothing runs twice."""

from __future__ import annotations

import os

import pytest

from tests.google.support.kinds import GCE, TPU, Kind
from tests.google.support.storm import Storm

SCHEDULES = int(os.environ.get("SCHEDULES", "120"))
PARTS = 4
"""One schedule takes a quarter of a second: SCHEDULES=500 plays them all."""


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", [TPU, GCE], ids=lambda kind: kind.name)
def test_storms_leave_nothing_and_run_nothing_twice(kind: Kind, part: int) -> None:
    kills = ran = 0
    for seed in range(part, SCHEDULES, PARTS):
        storm = Storm(kind, seed)
        storm.play()
        states = {job.id: str(job.state) for job in storm.jobs()}
        assert not storm.crew.wrong, f"seed {seed}: {storm.crew.wrong[0]}"
        assert storm.is_over(), f"seed {seed}: {states}; left: {storm.left()}"
        assert not storm.fake.desk.crashes, f"seed {seed}: {storm.fake.desk.crashes[0]}"
        assert not storm.fake.mistakes, f"seed {seed}: {storm.fake.mistakes}"
        kills, ran = kills + storm.kills, ran + storm.crew.ran
    assert kills > 20
    assert ran > 50, "storms in which nothing runs prove nothing"
