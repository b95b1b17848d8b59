"""A job's events are told from the journal alone: with few requests, for ever, and over gaps."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from bastion.journal import retirement, snapshot
from bastion.launcher.read.past_jobs import look_up, records
from bastion.launcher.read.reader import BastionReader
from bastion.model import layout
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CapacityChanged, Forgotten
from bastion.model.stored.journal_object import Gaps
from bastion.stores.counting import CountingBucket
from tests.support.bench import Bench
from tests.support.world import NOON, World

LONG = timedelta(days=40)


def busy(world: World, number: int) -> None:
    """Ticks in which something else happens."""
    for size in range(number):
        world.happens(CapacityChanged(runner="local", resources={"v4": 8 + size % 2}))


def ran(world: World, name: str = "train", request: str = "a") -> str:
    job = world.submitted(request * 32, name=name)
    busy(world, 30)
    key = world.runs(job)
    busy(world, 30)
    world.ends(key, Cause.CODE, JobState.FAILED, code=3, reason="exit code 3: boom")
    return job


def left(world: World, job: str) -> None:
    """It ended long ago, and the bastion has let it go."""
    leaving = retirement.retirable(world.journal.state, NOON + LONG)
    assert job in retirement.remove(world.bucket, leaving)
    world.happens(Forgotten(jobs=[job]))


def test_history_is_one_line_an_event_with_who_did_it_and_what_it_led_to(bench: Bench) -> None:
    world = World(bench.bucket)
    ran(world)
    world.ticks()

    said = bench.launch("history", "train")

    assert said.code == 0
    heads, *lines, foot = said.out.splitlines()
    assert heads.split() == ["TIME", "BY", "OF", "CHANGE", "WHAT"]
    assert [line.split("  ", 1)[1].split("  ")[0].strip() for line in lines] == [
        "alice", "bastion/0", "worker 0", "runner local", "bastion/0",
    ]  # fmt: skip
    assert " ".join(lines[-1].split()).endswith("RUNNING -> FAILED ended: exit code 3: boom")
    assert "last tick" in foot


def test_history_for_scripts_names_states_numbers_and_actors(bench: Bench) -> None:
    world = World(bench.bucket)
    job = ran(world)

    said = bench.launch("history", job, "--json").json

    assert (said["id"], said["bastion"]["name"], "holes" in said) == (job, "b", False)
    assert [(event["event"], event["from"], event["to"]) for event in said["events"]] == [
        ("Submitted", None, "PENDING"),
        ("Started", "PENDING", "PROVISIONING"),
        ("Claimed", "PROVISIONING", "RUNNING"),
        ("Gone", "RUNNING", "RUNNING"),
        ("Ended", "RUNNING", "FAILED"),
    ]
    assert {event["attempt"] for event in said["events"]} == {None, 0}


def test_one_task_of_an_array_has_a_history_of_its_own(bench: Bench) -> None:
    world = World(bench.bucket)
    sweep = world.submitted(name="sweep", count=3)
    for task in (0, 1):
        world.runs(sweep, task=task)

    for words in (["sweep[1]"], ["sweep", "--task=1"]):
        events = bench.launch("history", *words, "--json").json["events"]
        assert {event["task"] for event in events} == {None, 1}


def test_a_job_that_is_not_read_yet_says_so(bench: Bench) -> None:
    bench.submit("--name=new", "--", "x")

    assert "the scheduler has not picked it up yet (never active)" in bench.launch("history", "new").out


@pytest.mark.parametrize("command", ["history", "why", "show", "wait", "logs", "stop"])
def test_a_job_that_left_the_state_long_ago_is_still_known(bench: Bench, command: str) -> None:
    world = World(bench.bucket)
    job = ran(world)
    left(world, job)

    for word in (job, "train"):
        said = bench.launch(command, word, *(["--user_id=alice"] if command == "stop" else []))
        assert said.code == (3 if command in ("wait", "logs") else 0), said
    assert "has ended long ago; there is nothing to hold" in bench.launch("hold", job, "--user_id=alice").err


def test_the_history_of_a_job_costs_no_more_in_a_long_journal(bench: Bench) -> None:
    def cost(ticks: int) -> int:
        world = World()
        job = ran(world)
        left(world, job)
        busy(world, ticks)
        snapshot.make(world.bucket)
        counting = CountingBucket(world.bucket)
        view = BastionReader(counting, world.clock, world.tasks).look()
        found = look_up(job, view, counting, world.tasks)
        told = list(records(counting, world.tasks, view, found, Gaps()))
        assert len(told) == 5
        return sum(counting.counts.values())

    assert cost(1_000) == cost(10)


def test_of_a_long_history_the_first_and_the_newest_can_be_had(bench: Bench) -> None:
    world = World()
    sweep = world.submitted(name="sweep", count=30)
    for task in range(30):
        world.runs(sweep, task=task)
    view = world.look()
    found = look_up("sweep", view, world.bucket, world.tasks)

    told = list(records(world.bucket, world.tasks, view, found, Gaps(), most=4))

    assert [record.seq for record in told] == [1, 59, 60, 61]


def test_an_object_that_cannot_be_read_is_named_in_every_account(bench: Bench) -> None:
    world = World(bench.bucket)
    job = world.submitted(name="train")
    world.clock.now += 60
    world.runs(job)
    world.clock.now += 60
    busy(world, 1)
    bench.bucket.write(layout.journal(2), b'{"cut')

    for command in ("ls", "history", "why", "show"):
        words = [command, "--all"] if command == "ls" else [command, job]
        said = bench.launch(*words)
        assert said.code == 0, said
        assert "journal object 2 cannot be read: " in said.out, command
        [hole] = bench.launch(*words, "--json").json["holes"]
        assert (hole["first"], hole["after"], hole["before"]) == (
            2,
            "2026-01-31T12:00:00.000Z",
            "2026-01-31T12:01:00.000Z",
        )


def test_a_newer_snapshot_makes_a_hole_harmless_but_for_the_history_of_who_is_in_it(bench: Bench) -> None:
    world = World(bench.bucket)
    job = ran(world)
    other = world.submitted("b" * 32, name="other")
    snapshot.make(bench.bucket)
    bench.bucket.delete([layout.journal(world.journal.state.jobs[job].later[0])])

    assert (
        "missing"
        not in bench.launch("ls", "--all").out + bench.launch("why", other).out + bench.launch("show", job).out
    )
    told = " ".join(bench.launch("history", job).out.split())
    assert "is missing; events between" in told
    assert "FAILED ended: exit code 3: boom" in told


def test_a_look_at_the_queue_costs_as_much_for_many_jobs_as_for_one() -> None:
    def cost(jobs: int) -> Counter[str]:
        world = World()
        for number in range(jobs):
            world.submitted(f"{number:032}", name=f"j{number}")
        snapshot.make(world.bucket)
        busy(world, 3)
        counting = CountingBucket(world.bucket)
        assert len(BastionReader(counting, world.clock, world.tasks).look().state.jobs) == jobs
        return counting.counts

    assert cost(300) == cost(1) == {"list": 3, "read": 5}
