"""The leak test: whatever fails, and wherever the bastion is killed, nothing is left behind, and nothing runs twice."""

from __future__ import annotations

import os

import pytest

from bastion.google.services import OVERRIDES
from tests.google.tpu_storm import Storm

SCHEDULES = int(os.environ.get("TPU_SCHEDULES", "160"))
PARTS = 8
"""One schedule takes a third of a second: TPU_SCHEDULES=500 plays them all."""


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"{OVERRIDES}TPU", "http://127.0.0.1:1/tpu/")


@pytest.mark.parametrize("part", range(PARTS))
def test_storms_leave_nothing_and_run_nothing_twice(part: int) -> None:
    kills = ran = 0
    for seed in range(part, SCHEDULES, PARTS):
        storm = Storm(seed)
        storm.play()
        states = {job.id: str(job.state) for job in storm.jobs()}
        assert not storm.crew.wrong, f"seed {seed}: {storm.crew.wrong[0]}"
        assert storm.is_over(), f"seed {seed}: {states}; left: {storm.left()}"
        assert not storm.fake.desk.crashes, f"seed {seed}: {storm.fake.desk.crashes[0]}"
        assert not storm.fake.mistakes, f"seed {seed}: {storm.fake.mistakes}"
        kills, ran = kills + storm.kills, ran + storm.crew.ran
    assert kills > 20
    assert ran > 50, "storms in which nothing runs prove nothing"
