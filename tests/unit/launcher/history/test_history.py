"""The account of a job tells every event of it, in the words of the design."""

from __future__ import annotations

from typing import get_args

from bastion.journal import recover
from bastion.launcher.history.job_history import WORDS, history
from bastion.launcher.logs.log_lines import bastion_lines
from bastion.model import layout
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import (
    AnyEvent,
    CancelRequested,
    Claimed,
    Ended,
    Exited,
    Gone,
    JobRejected,
    ReclaimDropped,
    RequestRejected,
    Saved,
    Started,
    Stopping,
    Voided,
)
from tests.support.world import NOON, World


def test_every_kind_of_event_is_a_line() -> None:
    world = World()
    job = world.submitted(replicas=2)
    at = {"job": job, "task": 0, "attempt": 0}
    world.clock.now = 1.25
    world.happens(
        Started(**at, runner="local", tier=0, workers=2),  # type: ignore[arg-type]
        Claimed(**at, worker=0, machine="m0"),  # type: ignore[arg-type]
        Stopping(**at, cause=Cause.PREEMPTED, deadline=NOON, reason="reclaimed for bob", for_job=""),  # type: ignore[arg-type]
        Voided(**at, worker=1),  # type: ignore[arg-type]
        Exited(**at, worker=0, cause=Cause.CODE, exit_code=3, message="boom"),  # type: ignore[arg-type]
        Gone(**at, worker=0),  # type: ignore[arg-type]
        Ended(**at, cause=Cause.CODE, outcome=JobState.PENDING, reason="", ready_at=NOON),  # type: ignore[arg-type]
        ReclaimDropped(job=job),
        RequestRejected(request="q", user="eve", reason="it is alice's", job=job),
        CancelRequested(request="c", user="alice", job=job, task=0),
    )

    told = [event.line() for event in history(recover.objects(world.bucket, 0), job)]

    assert told == [
        "2026-01-31T12:00:00.000Z  alice  job  PENDING  submitted to default: 2xcpu=1, priority 5",
        *(
            f"2026-01-31T12:00:01.250Z  {line}"
            for line in (
                "bastion/0  task 0 attempt 0  PENDING -> PROVISIONING  begins on local, tier 0, 2 workers",
                "worker 0  task 0 attempt 0  is up on m0",
                "bastion/0  task 0 attempt 0  PROVISIONING -> PREEMPTING  stops by 2026-01-31T12:00:00.000Z: reclaimed for bob",
                "bastion/0  task 0 attempt 0  worker 1 did not come up and can never run",
                "worker 0  task 0 attempt 0  its process ended: code, exit code 3: boom",
                "runner local  task 0 attempt 0  worker 0 has exited",
                "bastion/0  task 0 attempt 0  PREEMPTING -> PENDING  ended: code; again from 2026-01-31T12:00:00.000Z",
                "bastion/0  job  the resources that were freed for it are free for all again",
                "bastion/0  job  request of eve refused: it is alice's",
                "alice  job  PENDING -> CANCELLED  stop requested, of task 0",
            )
        ),
    ]


def test_whom_others_stop_for_is_told_so() -> None:
    world = World()
    victim, poor = world.submitted("a" * 32, name="victim"), world.submitted("b" * 32, name="poor", user="bob")
    key = world.runs(victim)
    at = {"job": key.job, "task": 0, "attempt": 0}
    world.happens(Stopping(**at, cause=Cause.PREEMPTED, deadline=NOON, reason="reclaimed for poor", for_job=poor))  # type: ignore[arg-type]

    *_, told = history(recover.objects(world.bucket, 0), poor)

    assert (told.subject, told.text) == ("job", f"{victim} stops for it: reclaimed for poor")


def test_every_event_that_has_a_job_has_words() -> None:
    kinds = {kind for kind in get_args(AnyEvent) if "job" in kind.__struct_fields__}
    assert len(kinds) > 10
    assert kinds - WORDS.keys() == {Saved}, "of checkpoints there may be many"


def test_only_what_is_about_the_job_or_its_task_is_told() -> None:
    world = World()
    sweep = world.submitted("a" * 32, name="sweep", count=3)
    world.happens(JobRejected(request="q", job="bad-q", name="bad", user="a", project="p", reason="no"))
    for task in (0, 1):
        world.runs(sweep, task=task)
    records = list(recover.objects(world.bucket, 0))

    assert [event.text for event in history(records, "bad-q")] == ["rejected: no"]
    assert {event.subject for event in history(records, sweep, 1)} == {"job", "task 1 attempt 0"}
    assert not list(history(records, "other-x"))


def test_the_bastions_own_log_is_searched_for_the_job() -> None:
    world = World()
    for epoch, text in ((1, "tick\nstarts j-1"), (2, "takes over\nstops j-1\nother j-2\n")):
        world.bucket.create(layout.segment(layout.bastion_log(epoch), 0), text.encode())
    stored = next(iter(world.bucket.list(layout.BASTION_LOG))).modified

    found = [line for lines in bastion_lines(world.bucket, world.tasks, "j-1", since=stored) for line in lines]

    assert found == ["starts j-1", "stops j-1"]
