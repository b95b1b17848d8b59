"""The queue shows every job's state, and why it is not running."""

from __future__ import annotations

from bastion.cli.terminal.table import table
from bastion.launcher.read.job_rows import CAPS, HEADS, RIGHT, QueueView, footer, queue
from bastion.launcher.read.pending_reasons import derived
from bastion.launcher.read.view import LIVE, JobFilter
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CancelRequested, JobRejected, Stopping
from tests.support.world import World


def shown(world: World, *, everything: bool = False) -> QueueView:
    view = world.look()
    meant = JobFilter() if everything else JobFilter(users=frozenset({"alice"}), states=LIVE)
    return queue(view, derived(view), user="alice", meant=meant)


def test_the_table_is_one_line_a_job_and_says_why() -> None:
    world = World()
    world.runs(world.submitted("a" * 32, name="llm", resources={"v4": 8}, max_tries=5))
    world.clock.now = 60
    world.submitted("b" * 32, name="vit", user="bob", resources={"v4": 4}, replicas=2)
    sweep = world.submitted("c" * 32, name="sweep", count=100, project="nlp")
    world.runs(sweep, task=0)
    world.ticks()
    world.clock.now = 11_500
    world.asked("d" * 32, name="late")

    lines = table(HEADS, shown(world, everything=True).cells(), right=RIGHT)

    assert [line.split() for line in lines[:2]] == [
        "JOB USER PROJECT PRI RESOURCES STATE AGE RUN TRY WHY / WHERE".split(),
        "llm-aaaaaaaa alice default 5 v4=8 RUNNING 3h11m 3h11m 1/5 local/10.0.0.0".split(),
    ]
    assert lines[2].startswith(
        "sweep-cccccccc[0-99]  alice  nlp        5  cpu=1      RUNNING(1/100)  3h10m  3h10m  -    "
    )
    assert "99 of 100 tasks wait: " in lines[2]
    assert "vit-bbbbbbbb  " in lines[3]
    assert " 2xv4=4 " in lines[3]
    assert " PENDING " in lines[3]
    assert lines[4].split(maxsplit=9)[9] == "the scheduler has not picked it up yet (last active 3h10m ago)"


def test_a_gang_is_where_its_first_worker_is_and_how_many_more() -> None:
    world = World()
    world.runs(world.submitted(replicas=3), workers=3)

    assert shown(world).cells()[0][-1] == "local/10.0.0.0+2"


def test_only_my_live_jobs_are_shown_unless_all_are_asked_for() -> None:
    world = World()
    mine = world.submitted("a" * 32)
    world.submitted("b" * 32, user="bob")
    world.ends(world.runs(world.submitted("c" * 32)), Cause.OK, JobState.SUCCEEDED, code=0)

    assert [row["id"] for row in shown(world).rows()] == [mine]
    assert [row["user"] for row in shown(world, everything=True).rows()] == ["alice", "alice", "bob"]


def test_the_footer_counts_and_says_when_the_bastion_was_last_seen() -> None:
    world = World()
    world.submitted("a" * 32)
    world.runs(world.submitted("b" * 32))

    assert footer(shown(world), "b") == "1 PENDING, 1 RUNNING. bastion b: never seen."
    world.ticks()
    world.clock.now = 2
    assert footer(shown(world), "b").endswith("bastion b: last tick 2s ago.")
    world.ticks(state="stopped")
    world.clock.now = 62
    assert footer(shown(world), "b").endswith("bastion b: stopped; last tick 1m ago.")
    assert footer(shown(World()), "b").startswith("no jobs.")


def test_a_row_has_the_shape_of_the_contract() -> None:
    world = World()
    job = world.submitted(resources={"cpu": 2}, replicas=2)
    world.clock.now = 1.5
    key = world.runs(job, workers=2)
    world.clock.now = 3
    world.ends(key, Cause.CODE, JobState.PENDING, code=3, reason="exit code 3")
    world.clock.now = 4
    world.runs(job, attempt=1, workers=2)

    (row,) = shown(world).rows()

    assert row == {
        "id": "j-rrrrrrrr", "name": "j", "user": "alice", "project": "default", "priority": 5,
        "resources": {"cpu": 2}, "num_replicas": 2, "count": 1, "state": "RUNNING", "reason": "",
        "submitted": "2026-01-31T12:00:00.000Z", "tasks": {"RUNNING": 1},
        "attempts": [
            {"task": 0, "attempt": 0, "state": "ENDED", "cause": "code", "started": "2026-01-31T12:00:01.500Z",
             "ended": "2026-01-31T12:00:03.000Z", "exit_code": 3, "replicas": 2},
            {"task": 0, "attempt": 1, "state": "RUNNING", "cause": None, "started": "2026-01-31T12:00:04.000Z",
             "ended": None, "exit_code": None, "replicas": 2},
        ],
    }  # fmt: skip


def test_every_state_that_is_not_running_has_a_reason() -> None:
    world = World()
    stopping = world.runs(world.submitted("a" * 32, name="preempted"))
    world.happens(
        Stopping(
            job=stopping.job, task=0, attempt=0, cause=Cause.PREEMPTED, deadline=world.clock.wall(),
            reason="reclaimed for vision/vit (bob)",
        )
    )  # fmt: skip
    world.happens(CancelRequested(request="x", user="bob", job=world.submitted("b" * 32, name="cancelled")))
    world.happens(
        JobRejected(request="y", job="bad-y", name="bad", user="alice", project="p", reason="no such project")
    )
    failed = world.runs(world.submitted("c" * 32, name="failed"))
    world.ends(failed, Cause.SIGNAL, JobState.FAILED, code=139)
    world.submitted("d" * 32, name="huge", resources={"v4": 999})

    reasons = {row["name"]: (row["state"], row["reason"]) for row in shown(world, everything=True).rows()}

    assert reasons["preempted"] == ("PREEMPTING", "reclaimed for vision/vit (bob)")
    assert reasons["cancelled"] == ("CANCELLED", "cancelled by bob")
    assert reasons["bad"] == ("REJECTED", "no such project")
    assert reasons["failed"] == ("FAILED", "killed by signal 11")
    assert reasons["huge"][0] == "PENDING"
    assert "999" in reasons["huge"][1]


def test_a_terminal_gets_short_lines_that_still_say_why() -> None:
    world = World()
    world.submitted(name="n" * 63, resources={"v4": 999})

    _, name, *lines = table(HEADS, shown(world).cells(), right=RIGHT, caps=CAPS, width=120)

    assert all(len(line) <= 120 for line in (name, *lines))
    assert name == f"{'n' * 63}-rrrrrrrr"
    assert "the fleet has" in " ".join(lines)
