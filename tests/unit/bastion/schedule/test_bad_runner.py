"""A runner that fails over one job is in no other's way."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.journal.recover import objects
from bastion.model.interfaces import AttemptKey, Placement
from bastion.model.state.state import JobState, State
from bastion.quota.resources import Resources
from bastion.schedule.replay import DecisionDifference, replayed
from tests.support.town import Town


@pytest.mark.parametrize("answer", [None, 0, -1, "two"])
def test_a_job_of_which_the_runner_cannot_say_the_hosts_is_in_no_others_way(answer: object) -> None:
    town = Town()

    def workers(resources: Resources, replicas: int) -> Any:
        return 1 // 0 if replicas == 2 and answer is None else answer if replicas == 2 else replicas

    good, town.runner.workers = town.runner.workers, workers  # type: ignore[method-assign]
    bad = town.submits(replicas=2)
    other = town.submits()
    town.ticks(10)
    assert town.job(bad).state is JobState.PENDING
    assert town.job(other).state is JobState.PROVISIONING
    assert bad in town.bastion.problems["seats"]
    differences = {one.difference for one in replayed(State(), objects(town.bucket.inner, 0), 10**9)}
    assert differences == {DecisionDifference.NONE}
    town.runner.workers = good  # type: ignore[method-assign]
    town.ticks(70)
    assert town.job(bad).state is JobState.PROVISIONING
    assert "seats" not in town.bastion.problems


def test_what_a_runner_cannot_do_for_one_attempt_is_in_no_others_way() -> None:
    town = Town()
    first, second = town.submits(), town.submits()
    good = town.runner.create

    def create(placement: Placement) -> None:
        if placement.key.job == first:
            raise ZeroDivisionError
        good(placement)

    town.runner.create = create  # type: ignore[method-assign]
    town.ticks(3)
    assert ("create", AttemptKey(second, 0, 0)) in town.runner.calls
    assert "ZeroDivisionError" in town.bastion.problems["seen by runner local"]


def test_a_runner_that_falls_over_its_capacity_keeps_no_bastion_from_its_start() -> None:
    town = Town()
    town.runner.capacity = lambda: 1 // 0  # type: ignore[method-assign, assignment, return-value]
    assert town.begin().journal.epoch == 2
