"""Own machines first, then spot: tiers of one kind on two runners, from the submission to where each attempt is."""

from __future__ import annotations

import re

import msgspec
import pytest

from bastion.journal.recover import objects
from bastion.model import layout
from bastion.model.job.spec_changes import Changes
from bastion.model.state.state import JobState, State
from bastion.model.stored.events import Decided
from bastion.model.stored.requests import Update
from bastion.schedule.replay import DecisionDifference, replayed
from bastion.service.config_changes import affected
from tests.house.source import ROOT
from tests.support.doors import HandRunner
from tests.support.town import Town

SETTINGS = 'runners = ["near", "gce"]\nplacing = {h100 = ["near", "gce"]}\n'
QUOTA = """
[toml-schema]
version = "1"
[[total_resources]]
h100 = 8
[[total_resources]]
h100 = 16
[project_membership]
red = [".*"]
"""


def two_sides(quota: str = QUOTA, near: int = 8) -> Town:
    fleet = HandRunner(name="near", holds={"h100": near}), HandRunner(name="gce", holds=None, offers=["h100", "l4"])
    files = ("config.toml", SETTINGS), (layout.QUOTA, quota)
    town = Town(*files[: 2 if quota else 1], more=fleet)
    town.ticks(2)
    return town


def test_the_page_tells_how_it_is() -> None:
    """Its settings and its quota file, on fleets as large as it says."""
    blocks = re.findall(r"```toml\n(.*?)```", (ROOT / "docs/fleets/several-runners.md").read_text(), re.DOTALL)
    files = ("config.toml", blocks[2]), (layout.QUOTA, blocks[3])
    town = Town(
        *files, more=(HandRunner(name="slurm", holds={"h100": 64}), HandRunner(name="gce", holds=None, offers=["h100"]))
    )
    town.ticks(2)
    near = town.submits(project="nlp", resources={"h100": 32}, count=2)
    town.ticks(2)
    assert places_of(town, near) == [("slurm", 0)] * 2
    stays = town.submits(project="nlp", resources={"h100": 8})
    goes = town.submits(project="nlp", resources={"h100": 8}, replicas=4, max_tier=1)
    large = town.submits(project="nlp", resources={"h100": 8}, replicas=24, max_tier=1)
    town.ticks(2)
    assert (places_of(town, stays), places_of(town, goes)) == ([], [("gce", 1)])
    assert "needs 8 h100, 0 of 64 free in tier 0" in town.reasons()[stays]
    assert town.job(large).state is JobState.REJECTED


def asks(town: Town, units: int = 8, max_tier: int = 1, count: int = 1) -> str:
    return town.submits(project="red", resources={"h100": units}, max_tier=max_tier, count=count)


def places_of(town: Town, job: str) -> list[tuple[str, int]]:
    tasks = town.job(job).tasks.values()
    return [(attempt.runner, attempt.tier) for task in tasks for attempt in task.attempts]


def replays(town: Town) -> list[DecisionDifference]:
    records = list(objects(town.bucket.inner, 0))
    return [each.difference for each in replayed(State(), records, records[-1].seq)]


def test_an_array_fills_the_first_side_and_then_the_second_and_who_takes_no_worse_tier_waits() -> None:
    town = two_sides()
    array, stays = asks(town, count=4), asks(town, max_tier=0)
    town.ticks(3)
    assert places_of(town, array) == [("near", 0), ("gce", 1), ("gce", 1)]
    assert [len(town.runners[name].calls) for name in ("near", "gce")] == [1, 2]
    assert town.job(stays).state is JobState.PENDING
    assert "0 of 8 free in tier 0" in town.reasons()[stays]
    assert set(replays(town)) == {DecisionDifference.NONE}


def test_what_is_larger_than_each_side_or_has_no_machine_on_one_is_refused() -> None:
    town = two_sides()
    large, odd, fine = asks(town, 24), asks(town, 3), asks(town, 3, max_tier=0)
    town.ticks(3)
    assert "no runner's tiers hold h100=24, only h100=8 or h100=16; ask for less" in town.job(large).reason
    assert "did you mean gpu-h100-4? in tier 1; --max_tier=0 leaves it out" in town.job(odd).reason
    assert places_of(town, fine) == [("near", 0)]
    wider = asks(town, 3, max_tier=0)
    town.ticks(2)
    town.asks(Update(job=wider, changes=Changes(max_tier=1)))
    town.ticks(2)
    assert town.job(wider).max_tier == 0


def test_of_what_a_side_lacks_the_other_gives_nothing() -> None:
    """The quota file promises 8 of the own machines, and 4 are there: these 4, and not 20 of the others."""
    town = two_sides(near=4)
    jobs = [asks(town, 4) for _ in range(7)]
    town.ticks(3)
    assert [places_of(town, job) for job in jobs] == [[("near", 0)], *[[("gce", 1)]] * 4, [], []]


@pytest.mark.parametrize("quota", [QUOTA, ""])
def test_while_the_first_runner_is_blind_jobs_start_on_the_second_if_they_take_it(quota: str) -> None:
    town = two_sides(quota)
    town.runners["gce"].holds = {"h100": 16}
    town.ticks(40)
    runs = asks(town)
    town.ticks(3)
    town.runners["near"].blind = True
    town.ticks(40)
    town.cancels(runs)
    town.ticks(3)
    stays, goes = asks(town, max_tier=0), asks(town)
    town.ticks(3)
    assert places_of(town, goes) == [("gce", 1)]
    assert town.job(stays).state is JobState.PENDING
    assert [event.blind for event in town.journal() if isinstance(event, Decided)][-1] == ["near"]
    assert set(replays(town)) == {DecisionDifference.NONE}


def test_a_side_of_which_nobody_knows_keeps_what_is_free_there_for_its_return() -> None:
    """What waits for the first side starts there as soon as its runner answers again."""
    town = two_sides()
    town.runners["near"].blind = True
    town.ticks(40)
    stays = asks(town, max_tier=0)
    town.ticks(3)
    assert town.job(stays).state is JobState.PENDING
    town.runners["near"].blind = False
    town.ticks(12)
    assert places_of(town, stays) == [("near", 0)]
    assert set(replays(town)) == {DecisionDifference.NONE}


def test_who_checks_settings_is_told_what_goes_elsewhere_and_what_several_have() -> None:
    town = two_sides()
    asks(town, count=3)
    town.ticks(3)
    old, state = town.bastion.inputs.config, town.bastion.journal.state
    assert affected(state, old, old) == []
    swapped = msgspec.structs.replace(old, placing={"h100": ["gce", "near"]})
    assert affected(state, old, swapped) == [
        "tier 0: 1 attempt stays on near and counts as use of gce, which gives it from now on",
        "tier 1: 2 attempts stay on gce and count as use of near, which gives it from now on",
    ]
    bare = msgspec.structs.replace(old, placing={})
    assert "h100: near and gce have it, only near gives it; placing can name another" in affected(state, old, bare)
