"""`launch why --at`: for any moment of the past the account is the one that `launch why` gave then."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from bastion.journal import snapshot, tombstones
from bastion.launcher.read.job_rows import rfc3339
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import (
    CancelRequested,
    CapacityChanged,
    FileChanged,
    Forgotten,
    Held,
    Paused,
    Released,
    Resumed,
    SightChanged,
    Stopping,
)
from bastion.model.stored.records import Facts
from bastion.platform.system import SystemClock
from tests.support.bench import QUOTA, Bench
from tests.support.world import NOON, World

PRESENT = {"at", "bastion", "gpus"}
"""What an account tells of the present, or of when it was asked for."""


@pytest.fixture
def world(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> World:
    """A bastion whose clock is everybody's."""
    made = World(bench.bucket)
    monkeypatch.setattr(SystemClock, "wall", lambda self: made.clock.wall())
    made.clock.now += 60
    made.happens(CapacityChanged(runner="local", resources={"v4": 8, "cpu": 4}))
    made.happens(FileChanged(file="quota", version="1", text=QUOTA))
    return made


def life(world: World) -> list[Callable[[], object]]:
    """What happens around a job `late`, step by step."""
    stopped = {"job": "llm-aaaaaaaa", "task": 0, "attempt": 0, "cause": Cause.PREEMPTED, "reason": "reclaimed for late"}
    begun = world.runs(world.submitted("a" * 32, name="llm", project="nlp", resources={"v4": 6}))

    def ends() -> None:
        [(key, _, _)] = world.journal.state.live_attempts()
        world.ends(key, Cause.CODE, JobState.FAILED, code=3, reason="exit code 3")

    def beats() -> None:
        [(key, _, _)] = world.journal.state.live_attempts()
        world.bucket.write(layout.facts(key, 0), encode(Facts(phase="running", machine="m0", step=7)))

    return [
        lambda: world.submitted("b" * 32, name="late", user="bob", project="vision", resources={"v4": 4}),
        lambda: world.happens(FileChanged(file="quota", version="2", text=QUOTA.replace("v4 = 0.5", "v4 = 0.25"))),
        lambda: world.happens(Paused(request="p", user="root")),
        lambda: world.happens(Resumed(request="q", user="root")),
        lambda: world.happens(Held(request="h", user="bob", job="late-bbbbbbbb")),
        lambda: world.happens(FileChanged(file="config", version="1", text="reclaim_delay = 500\n")),
        lambda: world.happens(Released(request="r", user="bob", job="late-bbbbbbbb")),
        lambda: world.happens(
            Stopping(**stopped, deadline=world.clock.wall() + timedelta(seconds=30), for_job="late-bbbbbbbb")  # type: ignore[arg-type]
        ),
        lambda: world.ends(begun, Cause.PREEMPTED, JobState.PENDING, reason="reclaimed for late"),
        lambda: world.runs("late-bbbbbbbb"),
        beats,
        ends,
    ]


def why(bench: Bench, *words: str) -> dict[str, Any]:
    said = bench.launch("why", "late", "--json", *words)
    assert said.code == 0, said
    shown = {name: part for name, part in said.json.items() if name not in PRESENT}
    for attempt in shown["running"]:
        attempt["pulse"] = None
    return shown


def lived(bench: Bench, world: World) -> dict[datetime, dict[str, Any]]:
    """The whole life, and what was said after each step, by the time."""
    said = {}
    for number, step in enumerate(life(world)):
        world.clock.now += 100
        step()
        said[world.clock.wall()] = why(bench)
        if number % 3 == 0:
            snapshot.make(world.bucket)
    return said


def test_the_account_of_each_phase_is_the_one_that_was_given_then(bench: Bench, world: World) -> None:
    said = lived(bench, world)
    world.clock.now += 100_000

    for moment, then in said.items():
        assert why(bench, f"--at={moment.isoformat()}") == then
    states = [then["job"]["state"] for then in said.values()]
    assert states == ["PENDING"] * 9 + ["RUNNING"] * 2 + ["FAILED"]
    reasons = [then["job"]["reason"] for then in said.values()]
    assert len(set(reasons[:5])) == 5 - 1, "pausing and resuming leads back to the same"


@pytest.mark.parametrize("kept", [False, True])
def test_a_runner_that_did_not_answer_then_is_told_then_as_it_was(bench: Bench, world: World, kept: bool) -> None:
    world.submitted("b" * 32, name="late", user="bob", project="vision", resources={"v4": 4})
    said = {world.clock.wall(): why(bench)}
    for silence in ("no route", ""):
        world.clock.now += 100
        world.happens(SightChanged(runner="local", why=silence))
        if kept:
            snapshot.make(world.bucket)
        world.clock.now += 60
        world.happens(CapacityChanged(runner="local", resources={"v4": 8, "cpu": 4}))
        said[world.clock.wall()] = why(bench)
    world.clock.now += 100_000

    assert [why(bench, f"--at={moment.isoformat()}") for moment in said] == list(said.values())
    told = [then["job"]["reason"] for then in said.values()]
    assert told == [told[0], "the runner local has not answered since 12:02 UTC, 1m ago: no route", told[0]]


def test_a_moment_may_be_told_as_people_tell_it(bench: Bench, world: World) -> None:
    lived(bench, world)
    world.clock.now = 7_200.0

    for told, state in {"1h50m ago": "PENDING", "-95m": "FAILED", "12:10": "PENDING"}.items():
        assert why(bench, f"--at={told}")["job"]["state"] == state
    said = bench.launch("why", "late", "--at=2026-01-31T12:18:00Z")
    assert said.out.splitlines()[0].startswith("late-bbbbbbbb of bob in vision is RUNNING for 20s")
    assert said.out.splitlines()[-1] == "bastion b: as known at 2026-01-31T12:18:00.000Z."
    assert "step 7" not in said.out, "what a worker said last is not what it said then"


def test_for_scripts_the_moment_is_said(bench: Bench, world: World) -> None:
    lived(bench, world)

    assert bench.launch("why", "late", "--json").json["at"] is None
    shown = bench.launch("why", "late", "--json", "--at=12:15").json
    assert (shown["at"], shown["bastion"]) == (
        "2026-01-31T12:15:00.000Z", {"name": "b", "last_tick_age_s": None},
    )  # fmt: skip


def test_before_it_came_the_answer_is_when_it_came(bench: Bench, world: World) -> None:
    lived(bench, world)

    said = bench.launch("why", "late", "--at=12:02")

    assert said.code == 102
    assert said.err == (
        "error: late-bbbbbbbb was not in the journal at 2026-01-31T12:02:00.000Z: it was submitted at 2026-01-31T12:02:40.000Z; "
        "use a later time\n"
    )


def test_what_nobody_ever_heard_of_is_unknown_then_too(bench: Bench, world: World) -> None:
    lived(bench, world)

    said = bench.launch("why", "lata", "--at=12:10")

    assert (said.code, said.err) == (102, "error: no job 'lata'; did you mean late?\n")


def test_what_was_not_read_then_is_not_known(bench: Bench, world: World) -> None:
    bench.submit("--name=new", "--", "x")
    world.clock.now += 100

    said = bench.launch("why", "new", "--at=10s")

    assert said.code == 102
    assert said.err.endswith(": the scheduler has not picked it up yet\n")


def test_a_job_that_has_left_is_told_as_it_ended_and_as_it_was(bench: Bench, world: World) -> None:
    said = lived(bench, world)
    world.clock.now += 90_000
    [job] = [job for job in world.journal.state.jobs.values() if job.name == "late"]
    ended = world.clock.wall()
    tombstones.leave(world.bucket, job)
    world.happens(Forgotten(jobs=[job.id]))
    world.clock.now += 90_000

    for moment, then in said.items():
        assert why(bench, f"--at={moment.isoformat()}") == then
    assert why(bench, f"--at={(ended + timedelta(hours=1)).isoformat()}")["end"]["cause"] == "code"
    early = bench.launch("why", job.id, "--at=2026-01-31T12:02:00Z")
    assert (early.code, "it was submitted at 2026-01-31T12:02:40.000Z" in early.err) == (102, True)


def test_before_the_journal_and_after_now_nothing_is_known(bench: Bench, world: World) -> None:
    world.submitted(name="late")

    before = bench.launch("why", "late", "--at=2026-01-31T11:59:59Z")
    assert (before.code, before.err) == (
        1,
        "error: nothing is known of 2026-01-31T11:59:59.000Z: the journal begins at 2026-01-31T12:00:00.000Z; "
        "use a later time\n",
    )
    after = bench.launch("why", "late", f"--at={rfc3339(NOON + timedelta(days=1))}")
    assert after.code == 2
    assert after.err.startswith("error: --at is 2026-02-01T12:00:00.000Z, which is in the future: it is ")


def test_a_bastion_that_never_wrote_has_no_past(bench: Bench) -> None:
    said = bench.launch("why", "late", "--at=1h")

    assert said.code == 1
    assert said.err.endswith(": the journal is empty\n")


def test_what_cannot_be_read_on_the_way_is_named(bench: Bench, world: World) -> None:
    world.submitted(name="late", user="alice", project="nlp", resources={"v4": 1})
    world.clock.now += 10
    world.happens(CancelRequested(request="c", user="alice", job="late-rrrrrrrr"))
    world.bucket.delete([layout.journal(2)])

    said = bench.launch("why", "late", "--at=1s")

    assert said.code == 0
    assert "journal object 2 is missing" in said.out
