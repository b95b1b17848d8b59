"""The GPUs of the workers that run now, as `launch show` and `launch why` tell them."""

from __future__ import annotations

from bastion.launcher.explain.gpu_lines import gpus
from bastion.launcher.explain.worker_facts import WORKERS_MAX
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.errors import BucketError
from bastion.model.interfaces import AttemptKey, StoredObject
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.gpu_facts import Gpu, Xid
from bastion.model.stored.records import Facts
from bastion.stores.counting import CountingBucket
from tests.support.world import NOON, World

GPU = Gpu(index="3", name="NVIDIA H200", utilization_percent=0, ecc_corrected=4, xids=[Xid(code=79, at=NOON)])


def tell(world: World, key: AttemptKey, worker: int, *seen: Gpu) -> None:
    facts = Facts(phase="running", machine="m", gpus=list(seen))
    world.bucket.write(layout.facts(key, worker), encode(facts))


def test_each_gpu_of_each_worker_is_told_and_what_is_not_offered_is_null() -> None:
    world = World()
    job = world.submitted(replicas=2)
    key = world.runs(job, workers=2)
    tell(world, key, 0, GPU)
    tell(world, key, 1, Gpu(index="0"), Gpu(index="1", xids=[]))
    seen = gpus(world.bucket, world.tasks, world.look().state.jobs[job])

    assert [found.line() for found in seen] == [
        "task 0 worker 0  gpu 3  NVIDIA H200  use 0%  ECC errors 4 corrected  XID 79 (the GPU has fallen off the bus)",
        "task 0 worker 1  gpu 0",
        "task 0 worker 1  gpu 1  no XID",
    ]
    assert [found.row()["xids"] for found in seen] == [[{"code": 79, "at": "2026-01-31T12:00:00.000Z"}], None, []]
    row = seen[0].row()
    assert (row["task"], row["attempt"], row["worker"], row["index"]) == (0, 0, 0, "3")
    assert (row["utilization_percent"], row["temperature_c"], row["ecc_corrected"]) == (0, None, 4)


def test_only_what_runs_now_is_asked_for_and_only_of_the_task_that_is_meant() -> None:
    world = World()
    job = world.submitted(count=3)
    over = world.runs(job)
    tell(world, over, 0, GPU)
    world.ends(over, Cause.OK, JobState.SUCCEEDED, code=0)
    for task in (1, 2):
        tell(world, world.runs(job, task=task), 0, GPU)
    known = world.look().state.jobs[job]

    assert [found.key.task for found in gpus(world.bucket, world.tasks, known)] == [1, 2]
    assert [found.key.task for found in gpus(world.bucket, world.tasks, known, 2)] == [2]
    assert gpus(world.bucket, world.tasks, known, 0) == []


def test_a_large_gang_costs_so_many_reads_and_no_more() -> None:
    world = World()
    job = world.submitted(replicas=500)
    world.runs(job, workers=500)
    bucket = CountingBucket(world.bucket)

    assert gpus(bucket, world.tasks, world.look().state.jobs[job]) == []
    assert bucket.counts.total() == WORKERS_MAX


class Faulty(CountingBucket):
    """Does not answer for one worker."""

    def read(self, key: str, limit: int | None = None) -> StoredObject:
        if key.endswith("/0.json"):
            raise BucketError("the store is away")
        return super().read(key, limit)


def test_facts_that_cannot_be_read_are_left_out() -> None:
    world = World()
    job = world.submitted(replicas=4)
    key = world.runs(job, workers=4)
    tell(world, key, 0, GPU)
    world.bucket.write(layout.facts(key, 1), b"{}")
    world.bucket.write(layout.facts(key, 2), b" " * 70_000 + encode(Facts(phase="running", machine="m", gpus=[GPU])))
    tell(world, key, 3, GPU)

    assert [found.worker for found in gpus(Faulty(world.bucket), world.tasks, world.look().state.jobs[job])] == [3]
