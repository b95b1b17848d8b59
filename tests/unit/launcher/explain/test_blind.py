"""Of a runner that does not answer its jobs say so, since when, and what was heard."""

from __future__ import annotations

import pytest

from bastion.launcher.explain.ahead import prospects
from bastion.launcher.read.job_rows import QueueView
from bastion.launcher.read.pending_reasons import derived
from bastion.model.job.alternatives import Alternative
from bastion.model.stored.events import CapacityChanged, FileChanged, Held, SightChanged, Started
from tests.support.world import World

WORDS = "the runner local has not answered since 12:00 UTC, 10m ago: no route"


def blinded(world: World, *runners: str) -> World:
    """These have not answered for ten minutes."""
    world.happens(*(SightChanged(runner=name, why="no route") for name in runners))
    world.clock.now += 600
    return world


def reason(world: World, job: str) -> str:
    view = world.look()
    told: str = QueueView(view, (), derived(view)).row(view.state.jobs[job])["reason"]
    return told


@pytest.mark.parametrize("v4", [4, 8])
def test_who_could_start_and_who_has_no_room_both_wait_for_the_runners_answer(v4: int) -> None:
    world = World()
    world.runs(world.submitted("a" * 32, resources={"v4": 4}))
    job = world.submitted("b" * 32, resources={"v4": v4})
    assert reason(world, job) != WORDS
    assert reason(blinded(world, "local"), job) == WORDS
    view = world.look()
    against = prospects(view, view.state.jobs[job]).waiting
    assert against is not None
    assert [gate.text for gate in against.gates] == ["an answer from the runner local"]


def test_what_its_user_made_it_wait_for_comes_first() -> None:
    world = World()
    job = world.submitted()
    world.happens(Held(request="alice/1", user="alice", job=job))
    assert reason(blinded(world, "local"), job).startswith("held by alice")


def test_an_attempt_without_machines_says_it_and_one_that_runs_does_not() -> None:
    world = World()
    job, running = world.submitted("a" * 32), world.submitted("b" * 32)
    world.runs(running)
    world.happens(Started(job=job, task=0, attempt=0, runner="local", tier=0, workers=1))
    assert (reason(world, job), reason(world, running)) == ("", "")
    blinded(world, "local")
    assert (reason(world, job), reason(world, running)) == (WORDS, "")
    view = world.look()
    assert prospects(view, view.state.jobs[job]).reasons == {job: WORDS}


def test_jobs_of_another_runner_go_on() -> None:
    world = World()
    config = 'schema = 1\nrunners = ["local", "slurm"]\n'
    world.happens(
        FileChanged(file="config", version="1", text=config), CapacityChanged(runner="slurm", resources={"gpu": 8})
    )
    here, there = world.submitted("a" * 32), world.submitted("b" * 32, resources={"gpu": 1})
    blinded(world, "slurm")
    assert reason(world, here) == "not decided yet"
    assert reason(world, there).startswith("the runner slurm has not answered since")


def test_who_could_go_elsewhere_does_not_wait_for_it() -> None:
    world = World()
    config = 'schema = 1\nrunners = ["local", "slurm"]\n'
    world.happens(
        FileChanged(file="config", version="1", text=config), CapacityChanged(runner="slurm", resources={"gpu": 8})
    )
    job = world.submitted(resources={"gpu": 1}, alternatives=[Alternative(resources={"v4": 1})])
    assert reason(blinded(world, "slurm"), job) == "not decided yet"
    said = reason(blinded(world, "slurm", "local"), job)
    assert [name in said for name in ("the runner slurm has not", "the runner local has not")] == [True, True]


def test_at_a_start_without_any_answer_it_is_the_reason_too() -> None:
    world = World(reported=False)
    job = world.submitted()
    assert reason(world, job) == "no runner has reported yet"
    assert reason(blinded(world, "local"), job) == WORDS
