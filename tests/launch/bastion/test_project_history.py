"""`bastion history`: what happened to a project, with what it used of its share, from few journal objects."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest

from bastion.cli.bastion.tool import TOOL
from bastion.cli.terminal.main import run
from bastion.journal import retirement
from bastion.launcher.history import project_reader
from bastion.model import layout
from bastion.model.job.audit_line import sign
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CapacityChanged, FileChanged, Forgotten, Stopping
from bastion.model.stored.journal_object import Gaps
from bastion.stores.counting import CountingBucket
from tests.support.bench import QUOTA, Bench, Said
from tests.support.world import NOON, World

HALF = QUOTA
MOST = QUOTA.replace("[project_resources.nlp]\nv4 = 0.5", "[project_resources.nlp]\nv4 = 0.75").replace(
    "[project_resources.vision]\nv4 = 0.5", "[project_resources.vision]\nv4 = 0.25"
)


def told(bench: Bench) -> World:
    """An hour: llm of nlp borrows, vit of vision takes back, and then the quota changes."""
    world = World(bench.bucket)
    world.clock.now = (datetime.now(UTC) - NOON).total_seconds() - 4_000
    world.happens(FileChanged(file="quota", version="1", text=HALF))
    llm = world.submitted("a" * 32, name="llm", project="nlp", resources={"v4": 6})
    key = world.runs(llm)
    world.clock.now += 600
    vit = world.submitted("b" * 32, name="vit", user="bob", project="vision", resources={"v4": 4})
    at = {"job": llm, "task": 0, "attempt": 0}
    why = "reclaimed for vision/vit (bob)"
    deadline = world.clock.wall()
    world.happens(Stopping(**at, cause=Cause.PREEMPTED, deadline=deadline, reason=why, for_job=vit))  # type: ignore[arg-type]
    world.clock.now += 600
    world.ends(key, Cause.PREEMPTED, JobState.PENDING, reason=why)
    world.runs(vit)
    world.clock.now += 600
    text = sign(MOST, "root", world.clock.wall())
    world.happens(
        FileChanged(file="quota", version="2", text=text), CapacityChanged(runner="local", resources={"v4": 4})
    )
    return world


def bastion(bench: Bench, *words: str) -> Said:
    out, err = StringIO(), StringIO()
    code = run(TOOL, words, environ=bench.environ, out=out, err=err)
    return Said(code, out.getvalue(), err.getvalue())


def test_every_event_of_the_project_is_a_line_with_what_it_uses(bench: Bench) -> None:
    told(bench)

    heads, *lines, foot = bastion(bench, "history", "nlp").out.splitlines()

    cells = [[cell.strip() for cell in line.split("  ") if cell.strip()][1:] for line in lines]
    assert heads.split() == ["TIME", "BY", "JOB", "CHANGE", "USED", "WHAT"]
    assert cells == [
        ["bastion/0", "-", "-", "v4 0/4", "the quota file changed its share: v4 0 -> 4"],
        ["alice", "llm-aaaaaaaa", "PENDING", "v4 0/4", "submitted to nlp: v4=6, priority 5"],
        ["bastion/0", "llm-aaaaaaaa", "PENDING -> PROVISIONING", "v4 6/4 +2", "begins on local, tier 0"],
        ["worker 0", "llm-aaaaaaaa", "PROVISIONING -> RUNNING", "v4 6/4 +2", "is up on m0, 10.0.0.0"],
        ["bastion/0", "llm-aaaaaaaa", "RUNNING -> PREEMPTING", "v4 6/4 +2", cells[4][-1]],
        ["runner local", "llm-aaaaaaaa", "-", "v4 6/4 +2", "the machine of worker 0 is gone"],
        ["bastion/0", "llm-aaaaaaaa", "PREEMPTING -> PENDING", "v4 0/4", "ended: reclaimed for vision/vit (bob)"],
        ["root", "-", "-", "v4 0/6", "the quota file changed its share: v4 4 -> 6"],
        ["bastion/0", "-", "-", "v4 0/3", "the capacity changed its share: v4 6 -> 3"],
    ]
    assert cells[4][-1].endswith("reclaimed for vision/vit (bob)")
    assert foot == "bastion b: never seen."


def test_whom_others_were_stopped_for_is_told_too(bench: Bench) -> None:
    told(bench)

    events = bastion(bench, "history", "vision", "--json").json["events"]

    assert [(event["event"], event["job"]) for event in events] == [
        ("FileChanged", None),
        ("Submitted", "vit-bbbbbbbb"),
        ("Stopping", "vit-bbbbbbbb"),
        ("Started", "vit-bbbbbbbb"),
        ("Claimed", "vit-bbbbbbbb"),
        ("FileChanged", None),
        ("CapacityChanged", None),
    ]
    assert events[2]["text"] == "llm-aaaaaaaa stops for it: reclaimed for vision/vit (bob)"
    assert (events[-1]["used"], events[-1]["share"], events[-1]["borrowed"]) == ({"v4": 4}, {"v4": 1}, {"v4": 3})


def test_a_window_begins_with_what_was_used_and_in_force_then(bench: Bench) -> None:
    told(bench)

    events = bastion(bench, "history", "nlp", "--since=50m", "--json").json["events"]

    assert [event["event"] for event in events] == ["Gone", "Ended", "FileChanged", "CapacityChanged"]
    assert [(event["used"], event["share"]) for event in events] == [
        ({"v4": 6}, {"v4": 4}),
        ({}, {"v4": 4}),
        ({}, {"v4": 6}),
        ({}, {"v4": 3}),
    ]
    assert [(event["from"], event["to"]) for event in events[:2]] == [(None, None), (None, "PENDING")]


@pytest.mark.parametrize("words", [["--since=1s"], ["--since=1s", "--json"]])
def test_nothing_happened(bench: Bench, words: list[str]) -> None:
    told(bench)

    said = bastion(bench, "history", "nlp", *words)

    assert said.code == 0
    assert "nothing happened to nlp since " in said.out or said.json["events"] == []


def test_an_unknown_project_is_answered_with_the_nearest(bench: Bench) -> None:
    told(bench)

    said = bastion(bench, "history", "npl")

    assert (said.code, said.err) == (1, "error: no project 'npl'; did you mean nlp?\n")


def long_past(world: World, ticks: int) -> None:
    """Jobs of two projects come and go, one a day, and other things happen between."""
    for day in range(12):
        world.clock.now += 86_400 / 2
        for number in range(ticks):
            world.happens(CapacityChanged(runner=f"other{number}", resources={"h100": day}))
        world.clock.now += 86_400 / 2
        project = ("nlp", "vision")[day % 2]
        job = world.submitted(f"{day:032}"[::-1], name=f"j{day}", user="bob", project=project, resources={"v4": 1})
        key = world.runs(job)
        world.clock.now += 60
        world.ends(key, Cause.OK, JobState.SUCCEEDED, code=0)


def read_back(world: World, since: timedelta) -> tuple[list[Any], Counter[str]]:
    counting = CountingBucket(world.bucket)
    gaps = Gaps()
    moment = world.clock.wall() - since
    found = project_reader.project_history(counting, world.tasks, world.journal.state, "nlp", moment, gaps)
    return [entry.row() for entry in found], counting.counts


def test_only_objects_that_speak_of_the_project_are_read() -> None:
    world = World()
    world.happens(FileChanged(file="quota", version="1", text=HALF))
    long_past(world, 0)
    rows, counts = read_back(world, timedelta(days=5))
    assert len(rows) == 10
    assert counts["read"] < 20
    state = world.journal.state
    assert state.indexed == 0
    state.indexed = state.seq  # as after a snapshot of an older version: all of the window is read
    assert read_back(world, timedelta(days=5))[0] == rows


def test_jobs_that_the_state_has_forgotten_are_told_as_before() -> None:
    world = World()
    world.happens(FileChanged(file="quota", version="1", text=HALF))
    long_past(world, 3)
    rows, _ = read_back(world, timedelta(days=9))
    leaving = retirement.retirable(world.journal.state, world.clock.wall() + timedelta(days=27))
    gone = list(retirement.remove(world.bucket, leaving))
    assert 0 < len(gone) < 12
    world.happens(Forgotten(jobs=gone))

    assert read_back(world, timedelta(days=9))[0] == rows


def test_a_hole_on_the_way_is_named_and_the_rest_is_told(bench: Bench) -> None:
    world = told(bench)
    bench.bucket.delete([layout.journal(world.journal.state.jobs["llm-aaaaaaaa"].later[1])])

    said = bastion(bench, "history", "nlp")

    assert said.code == 0
    assert "is missing; events between" in said.out
    assert "PENDING" in said.out
