"""What should exist outside: rows for live attempts, orders from specs, folders of tasks, reasons for a restart."""

from __future__ import annotations

from typing import Any

import pytest

from bastion.model import layout
from bastion.model.codec import decode, encode
from bastion.model.errors import BucketError, RecordError
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import AnyEvent, Claimed, Ended, Exited, Gone, Started, Stopping, Submitted
from bastion.model.stored.records import Order
from bastion.schedule.desired import desired, order, stop_order
from bastion.service.spec_cache import KEPT, KEPT_BYTES, SpecCache
from tests.support.doors import FaultyBucket, fails, folded
from tests.support.world import NOON, World, spec

S = JobState


def at(attempt: int = 0, task: int = 0) -> dict[str, Any]:
    return {"job": "j", "task": task, "attempt": attempt}


def tried(cause: Cause, step: int | None = None, attempt: int = 0) -> list[AnyEvent]:
    here = at(attempt)
    own = [Exited(**here, worker=0, cause=cause, exit_code=1, step=step)] if step is not None else []
    return [
        Started(**here, runner="local", tier=0, workers=1),
        Claimed(**here, worker=0, machine="m"),
        *own,
        Gone(**here, worker=0),
        Ended(**here, cause=cause, outcome=S.PENDING, reason=""),
    ]


def begins(attempt: int) -> Started:
    return Started(**at(attempt), runner="local", tier=2, workers=1)


JOB = Submitted(request="r", job="j", spec=spec(output_dir="gs://b/out/", checkpoint_dir="/ckpt", grace_s=9))


def test_only_live_attempts_are_desired() -> None:
    assert desired(folded(JOB)) == ()
    assert desired(folded(JOB, *tried(Cause.LOST))) == ()
    [row] = desired(folded(JOB, begins(0)))
    assert (row.key.attempt, row.placement.tier, row.restart_reason, row.last_step) == (0, 2, "first", None)


@pytest.mark.parametrize(
    ("cause", "told"),
    [
        (Cause.PREEMPTED, "preempted"),
        (Cause.LOST, "node_lost"),
        (Cause.VOID, "node_lost"),
        (Cause.CODE, "failure"),
        (Cause.SIGNAL, "failure"),
        (Cause.OOM, "failure"),
        (Cause.SETUP, "failure"),
    ],
)
def test_a_process_learns_why_it_starts_again(cause: Cause, told: str) -> None:
    [row] = desired(folded(JOB, *tried(cause), begins(1)))
    assert row.restart_reason == told


def test_the_last_step_is_of_the_latest_attempt_that_had_one() -> None:
    state = folded(JOB, *tried(Cause.CODE, 5), *tried(Cause.CODE, 9, 1), *tried(Cause.LOST, None, 2), begins(3))
    [row] = desired(state)
    assert row.last_step == 9


@pytest.mark.parametrize(
    ("count", "output", "checkpoint"), [(1, "gs://b/out/", "/ckpt"), (3, "gs://b/out/2", "/ckpt/2")]
)
def test_the_tasks_of_an_array_have_folders_of_their_own(count: int, output: str, checkpoint: str) -> None:
    wanted = spec(output_dir="gs://b/out/", checkpoint_dir="/ckpt", count=count)
    task = count - 1
    job = Submitted(request="r", job="j", spec=wanted)
    [row] = desired(folded(job, Started(**at(0, task), runner="local", tier=0, workers=1)))
    paper = order(row, wanted)
    assert (paper.output_dir, paper.checkpoint_dir, paper.task) == (output, checkpoint, task)
    assert decode(encode(paper), Order, "order") == paper


def test_every_bastion_writes_the_same_stop_order() -> None:
    stop = Stopping(**at(), cause=Cause.PREEMPTED, deadline=NOON, reason="for ann")
    [row] = desired(folded(JOB, begins(0), stop))
    assert encode(stop_order(row)) == encode(stop_order(desired(folded(JOB, begins(0), stop))[0]))
    assert (stop_order(row).grace_s, stop_order(row).reason) == (9, "for ann")


# Specs


def test_a_spec_that_is_young_costs_no_request_and_an_old_one_is_read_with_its_neighbours() -> None:
    world = World()
    jobs = [Submitted(request=f"r{n}", job=f"j-{n}", spec=spec(name=f"j{n}")) for n in range(3)]
    world.happens(*jobs)
    bucket = FaultyBucket(inner=world.bucket)
    specs = SpecCache(bucket)
    assert specs.of("j-1", 1, 1).name == "j1"
    assert specs.of("j-2", 1, 2).name == "j2"
    assert bucket.calls == [("read", layout.journal(1)), ("read", layout.journal(2))], "held against the next object"


def test_only_so_many_specs_are_kept() -> None:
    specs = SpecCache(FaultyBucket(faults=[fails]))
    for number in range(KEPT + 1):
        specs.keep(f"j-{number}", spec())
    assert specs.of(f"j-{KEPT}", 0, 0) == spec()
    with pytest.raises(BucketError):
        specs.of("j-0", 0, 0)


def test_large_specs_are_kept_within_bounds() -> None:
    specs = SpecCache(FaultyBucket(faults=[fails]))
    large = spec(env={f"A{n}": "x" * 30_000 for n in range(6)})
    number = KEPT_BYTES // len(encode(large)) + 1
    for job in range(number):
        specs.keep(f"j-{job}", large)
        specs.keep(f"j-{job}", large)
    assert specs.of("j-1", 0, 0) is large
    with pytest.raises(BucketError):
        specs.of("j-0", 0, 0)


@pytest.mark.parametrize("place", [(0, 0), (0, 9), (7, 0)])
def test_a_spec_that_is_not_at_its_place_is_an_error_that_names_the_job(place: tuple[int, int]) -> None:
    with pytest.raises(RecordError, match="the spec of j-1"):
        SpecCache(World().bucket).of("j-1", *place)
