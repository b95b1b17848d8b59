"""`launch why` says all that is known: what a job is up against, where it runs, or how it ended and what to do."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    CapacityChanged,
    Exited,
    FileChanged,
    Held,
    JobRejected,
    Paused,
    Started,
    Stopping,
    Waiting,
)
from bastion.model.stored.records import Facts
from tests.support.bench import QUOTA, Bench
from tests.support.world import NOON, World

CAPACITY = CapacityChanged(runner="local", resources={"v4": 8, "cpu": 4})


def world(bench: Bench, *events: AnyEvent, quota: str = QUOTA, ago_s: float = 7_000) -> World:
    """A bastion that began so long before now."""
    made = World(bench.bucket)
    made.clock.now = (datetime.now(UTC) - NOON).total_seconds() - ago_s
    made.happens(CAPACITY, FileChanged(file="quota", version="1", text=quota), *events)
    return made


def holder(there: World, **fields: Any) -> str:
    """A job of alice's that has 6 of 8 units, beyond her project's 4."""
    job = there.submitted("a" * 32, name="llm", project="nlp", resources={"v4": 6}, **fields)
    there.runs(job)
    return job


def page(bench: Bench, *words: str) -> list[str]:
    said = bench.launch("why", *words)
    assert said.code == 0, said
    return [" ".join(line.split()) for line in said.out.splitlines()]


def test_without_a_quota_file_nobody_has_a_share(bench: Bench) -> None:
    there = World(bench.bucket)
    there.happens(CapacityChanged(runner="local", resources={"v4": 8}))
    there.runs(there.submitted("a" * 32, name="all", resources={"v4": 8}))
    there.submitted("b" * 32, name="next", resources={"v4": 8})
    assert "asks for 8 v4: 0 of 8 free; default uses 8" in page(bench, "next")


def test_who_waits_for_machines_is_told_for_which(bench: Bench) -> None:
    there = world(bench)
    job = there.submitted("a" * 32, name="slices", project="nlp", resources={"v4": 8})
    at: dict[str, Any] = {"job": job, "task": 0, "attempt": 0}
    queued = "v4-8 (spot) is queued in us-central2-b"
    there.happens(Started(**at, runner="tpu", tier=0, workers=1), Waiting(**at, reason=queued))
    assert f"waits {queued}" in page(bench, "slices")
    assert queued in bench.launch("ls", "--all").out
    assert queued in bench.launch("history", "slices").out
    there.happens(Waiting(**at, reason=""))
    assert not any(line.startswith("waits") for line in page(bench, "slices"))
    assert "its machines are there" in bench.launch("history", "slices").out


def test_a_job_that_waits_is_told_what_it_is_up_against(bench: Bench) -> None:
    there = world(bench)
    llm = holder(there, time_limit_s=7_200)
    there.clock.now += 6_000
    there.submitted("b" * 32, name="big", user="bob", project="vision", resources={"v4": 8}, priority=2)
    small = there.submitted("c" * 32, name="small", user="bob", project="vision", resources={"v4": 4}, priority=1)
    there.happens(CapacityChanged(runner="local", resources={"v4": 8, "cpu": 5}))

    lines = page(bench, "big")

    assert re.match(r"big-bbbbbbbb of bob in vision is PENDING for 1\dm\d*s?: needs 8 v4, ", lines[0]), lines[0]
    assert "asks for 8 v4: 2 of 8 free; vision uses 0 of its share of 4" in lines
    assert "place 2 of 2 that wait in vision" in lines
    assert f"ahead 1. bob/{small} asks for v4=4: others are stopped for it" in lines
    [held] = [line for line in lines if line.startswith("held by")]
    assert held.startswith(f"held by nlp: alice/{llm} has v4=6 for 1h56m, until ")
    assert f"needs the end of alice/{llm} and holding back bob/{small} would start it now" in lines
    assert "or 10 more v4 in the fleet would start it now" in lines
    assert any(line.startswith("expected it starts by ") for line in page(bench, "small"))


def test_the_account_for_scripts_has_the_same_as_values(bench: Bench) -> None:
    there = world(bench)
    llm = holder(there)
    there.submitted("b" * 32, name="more", user="bob", project="nlp", resources={"v4": 4, "cpu": 1}, replicas=1)

    said = bench.launch("why", "more", "--json").json

    v4, cpu = said["waiting"]["amounts"]
    assert v4 == {
        "kind": "v4", "asked": 4, "pool": 8, "free": 2, "freeing": 0, "share": 4, "used": 6, "borrowed": 2,
    }  # fmt: skip
    assert (cpu["kind"], cpu["free"]) == ("cpu", 4)
    [held] = said["waiting"]["holders"]
    assert (held["job"], held["until"], held["stopping"]) == (llm, None, False)
    assert said["waiting"]["place"] == {"place": 1, "of": 1, "waiting": 1}
    assert said["waiting"]["outlook"]["expected"] is None
    first = said["waiting"]["outlook"]["remedies"][0]
    assert (first["what"], first["change"], first["how"]) == (
        "priority", {"priority": 4}, "launch update more-bbbbbbbb --priority=4",
    )  # fmt: skip
    assert first["effect"] == {"tasks": 0, "stops": [{"job": llm, "user": "alice", "project": "nlp"}]}
    assert (said["running"], said["end"], said["job"]["state"]) == ([], None, "PENDING")
    assert said["events"][0]["event"] == "Submitted"


def test_who_is_being_stopped_for_it_is_named(bench: Bench) -> None:
    there = world(bench)
    llm = holder(there)
    poor = there.submitted("b" * 32, name="poor", user="bob", project="vision", resources={"v4": 4})
    at = {"job": llm, "task": 0, "attempt": 0}
    soon = there.clock.wall() + timedelta(hours=2)
    there.happens(Stopping(**at, cause=Cause.PREEMPTED, deadline=soon, reason="reclaimed for poor", for_job=poor))  # type: ignore[arg-type]

    lines = page(bench, "poor")

    assert any(f"is being stopped for {poor}, until " in line for line in lines)
    assert "asks for 4 v4: 2 of 8 free, 6 being freed; vision uses 0 of its share of 4" in lines
    assert any(line.endswith(f"{llm} stops for it: reclaimed for poor") for line in lines)
    when = rf"expected it starts by ({soon:%Y-%m-%d} )?{soon:%H:%M} UTC, "  # with the day before midnight
    assert any(re.match(when, line) for line in lines)
    assert "sooner asking for 2 instead of 4 v4 would start it now" in lines
    assert any(line == "stops reclaimed for poor" for line in page(bench, "llm"))


@pytest.mark.parametrize(
    ("fields", "help_"),
    [
        ({"user": "eve", "project": "vision"}, "needs a line for eve in [project_membership] vision of the quota file"),
        ({"project": "nlp", "resources": {"v4": 9}}, "never asks for 9 v4 but the fleet has 8: it can never start"),
        ({"project": "nlp", "resources": {"v4": 9}}, "needs asking for 8 instead of 9 v4 would start it now"),
        ({"project": "nlp", "resources": {"v4": 9}}, "or 1 more v4 in the fleet would start it now"),
        ({"project": "nlp", "resources": {"v5": 1}}, "never this fleet has no v5: it can never start"),
        ({"project": "nlp", "resources": {"v5": 1}}, "needs 1 more v5 in the fleet would start it now"),
    ],
)
def test_what_would_have_to_change_is_said(bench: Bench, fields: dict[str, Any], help_: str) -> None:
    there = world(bench)
    there.submitted(**{"name": "j", "resources": {"v4": 1}, **fields})

    assert any(line.startswith(help_) for line in page(bench, "j"))


def test_a_task_that_rests_says_when_it_is_tried_again(bench: Bench) -> None:
    there = world(bench, ago_s=10)
    job = there.submitted(name="j", project="nlp", resources={"v4": 1}, max_tries=2, retry_interval_s=9_999)
    key = there.runs(job)
    at = there.clock.wall() + timedelta(hours=2)
    there.happens(Exited(job=job, task=0, attempt=0, worker=0, cause=Cause.CODE, exit_code=1))
    there.ends(key, Cause.CODE, JobState.PENDING, code=1, reason="exit code 1", ready_at=at)

    assert f"needs time: it is tried again at {at:%H:%M:%S} UTC" in page(bench, "j")


def test_a_job_that_runs_says_where_since_when_and_how_far_it_is(bench: Bench) -> None:
    there = world(bench)
    job = holder(there, time_limit_s=86_400)
    [(key, _, _)] = there.journal.state.live_attempts()
    facts = Facts(phase="running", machine="m0", step=1200, checkpoint_at=there.clock.wall())
    bench.bucket.write(layout.facts(key, 0), encode(facts))
    bench.bucket.write(layout.beat(key, 0), b"7")

    lines = page(bench, job)

    assert lines[0] == f"{job} of alice in nlp is RUNNING for 1h56m"
    assert lines[1] == "attempt task 0 attempt 0, RUNNING: local on 10.0.0.0 for 1h56m"
    assert lines[2].startswith("until ")
    assert lines[3].startswith("progress step 1200, checkpoint 1h56m ago, last beat ")
    assert lines[4] == "borrows nlp holds 2 v4 beyond its share"
    assert lines[5] == "at risk a job of vision that asks for v4=3 could stop it, after 1m30s of waiting"
    assert lines[6] == f"log launch logs {job}"
    [row] = bench.launch("why", job, "--json").json["running"]
    assert (row["pulse"]["step"], row["pulse"]["phase"], row["machines"]) == (1200, "running", ["10.0.0.0"])


@pytest.mark.parametrize(
    ("cause", "outcome", "advice"),
    [
        (Cause.CODE, JobState.FAILED, "launch logs j-rrrrrrrr --tail=50"),
        (Cause.OOM, JobState.FAILED, "more memory"),
        (Cause.SIGNAL, JobState.FAILED, "killed, by itself or by its machine"),
        (Cause.SETUP, JobState.FAILED, "could not be fetched"),
        (Cause.TIME_LIMIT, JobState.TIMEOUT, "--time_limit"),
        (Cause.CANCELLED, JobState.CANCELLED, "if that was not meant"),
        (Cause.OK, JobState.SUCCEEDED, ""),
    ],
)
def test_a_job_that_ended_says_how_and_what_to_do(bench: Bench, cause: Cause, outcome: JobState, advice: str) -> None:
    there = world(bench)
    key = there.runs(there.submitted(name="j", project="nlp", resources={"v4": 1}))
    there.happens(
        Exited(job=key.job, task=0, attempt=0, worker=0, cause=cause, exit_code=3, message="ValueError: boom")
    )
    there.ends(key, cause, outcome, code=3, reason="it ended")

    end = bench.launch("why", "j", "--json").json["end"]

    assert (end["cause"], end["exit_code"], end["message"]) == (cause.value, 3, "ValueError: boom")
    assert advice in end["advice"]
    assert bool(advice) == bool(end["advice"])
    lines = page(bench, "j")
    assert "message ValueError: boom" in lines
    assert any(line.startswith(f"cause {cause.value}, exit code 3; ") for line in lines)


def test_a_rejected_and_a_cancelled_job_have_an_end_too(bench: Bench) -> None:
    there = world(bench)
    job = there.submitted("c" * 32, name="c", project="nlp", resources={"v4": 1})
    there.happens(
        JobRejected(request="q", job="bad-q", name="bad", user="alice", project="nlp", reason="no such kind"),
        CancelRequested(request="c", user="alice", job=job),
    )

    assert "to do correct what the reason names, then launch it again" in page(bench, "bad-q")
    assert page(bench, "c")[0] == f"{job} of alice in nlp is CANCELLED for 1h56m: cancelled by alice"


def test_long_lists_are_cut_for_people_and_whole_for_scripts(bench: Bench) -> None:
    there = world(bench)
    sweep = there.submitted("a" * 32, name="sweep", project="nlp", resources={"v4": 1}, count=20)
    for task in range(8):
        there.runs(sweep, task=task)

    lines = page(bench, "sweep")

    assert "held by and 3 more" in lines
    assert "running and 3 more" in lines
    said = bench.launch("why", "sweep", "--json").json
    assert (len(said["running"]), len(said["waiting"]["holders"])) == (8, 8)


def test_a_job_that_the_bastion_has_not_read_yet(bench: Bench) -> None:
    bench.submit("--name=new", "--", "x")

    assert "PENDING: the scheduler has not picked it up yet (never active)" in page(bench, "new")[0]


def test_what_people_stopped_is_for_people_to_let_go_on(bench: Bench) -> None:
    there = world(bench)
    first = there.submitted("a" * 32, name="first", project="nlp", resources={"v4": 8}, priority=1)
    job = there.submitted("b" * 32, name="j", project="nlp", resources={"v4": 8})
    there.happens(Held(request="h", user="alice", job=job))

    lines = page(bench, "j")

    assert any(line.startswith(f"needs launch release {job}: held by alice since ") for line in lines)
    assert not any(line.startswith("ahead") for line in lines), "it is in no line"
    there.happens(Paused(request="p", user="root"))
    assert any(line.startswith("needs an admin's bastion resume: paused by root since ") for line in page(bench, first))
