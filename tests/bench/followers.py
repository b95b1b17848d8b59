"""A hundred real followers of one real job, on the real storage emulator: what they cost the bastion, and what they see."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from google.cloud import storage

from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.job.spec import new_jobspec
from bastion.model.layout import job_id
from bastion.model.stored.requests import Submit
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.runners.local.runner import LocalRunner
from bastion.service import loop
from bastion.service.maintenance import ServiceContext
from bastion.service.tick import Bastion
from bastion.stores.counting import CountingBucket
from bastion.stores.gcs import GcsBucket
from bastion.stores.opening import PrefixedBucket
from tests.bench.bastion.folder import fresh_folder
from tests.bench.rows import Row
from tests.bench.stage import run_until
from tests.support.servers import gcs_server

FOLLOWERS, PROCESSES = 100, 4
POLL_S = 0.5
YOUNG_S, RAMP_S, SECONDS, TICKS = 65.0, 20.0, 60.0, 360
"""Output of a young job comes fast anyhow: measured is what comes later."""

TELL = "while :; do date +%s.%N; sleep 0.25; done"


def rows() -> list[Row]:
    """The bastion alone for so many ticks, then for as many with followers; the lines of a minute."""
    with (
        fresh_folder() as folder,
        gcs_server(folder) as (address, _),
        _stage(folder, address) as (bastion, bucket, job),
    ):
        _pass(bastion, YOUNG_S)
        alone = _asked(bastion, bucket)
        argv = [sys.executable, "-m", "tests.bench.crowd", bucket.url, job]
        argv += map(str, (FOLLOWERS // PROCESSES, RAMP_S, SECONDS))
        crowd = [subprocess.Popen(argv, stdout=subprocess.PIPE) for _ in range(PROCESSES)]
        _pass(bastion, RAMP_S)
        followed = _asked(bastion, bucket)
        seen = [json.loads(process.communicate()[0]) for process in crowd]
    late = sorted(delay for one in seen for delay in one["late"])
    asked = sum((Counter(one["asked"]) for one in seen), start=Counter[str]())
    words = asked.pop("word", 0)
    return [
        Row(f"requests of the bastion in {TICKS} ticks, alone", alone, "requests"),
        Row(f"  the same with {FOLLOWERS} followers of its one job", followed, "requests", 1.1 * alone),
        Row("a line on each of their terminals, p50", late[len(late) // 2], "s"),
        Row("  the same, p95", late[int(0.95 * len(late))], "s", 2),
        Row("  lines that each of them saw in a minute", len(late) / FOLLOWERS, "lines"),
        Row("  requests of one follower a second", asked.total() / FOLLOWERS / SECONDS, "requests", 4),
        Row("  words to the worker in a minute, from all of them", words, "words", 3),
    ]


def _pass(bastion: Bastion, seconds: float) -> None:
    end = time.monotonic() + seconds
    run_until(bastion, lambda: time.monotonic() >= end)


def _asked(bastion: Bastion, bucket: CountingBucket) -> int:
    """What the bastion asks of the bucket in the next `TICKS` ticks."""
    before = bucket.counts.total()
    end = bastion.ticks + TICKS
    run_until(bastion, lambda: bastion.ticks >= end)
    return bucket.counts.total() - before


@contextmanager
def _stage(folder: Path, address: str) -> Iterator[tuple[Bastion, CountingBucket, str]]:
    """A bastion on this machine with one job that runs, until the block ends."""
    os.environ["STORAGE_EMULATOR_HOST"] = address
    with storage.Client() as client:
        client.create_bucket("followers")
    bucket = CountingBucket(PrefixedBucket(GcsBucket("gs://followers"), "b"))
    ids, clock, tasks = RandomIds(), SystemClock(), ThreadTasks()
    runner = LocalRunner(
        scope=f"bench-{os.getpid()}", bucket_url=bucket.url, work_root=folder, ids=ids, clock=clock, given={"v4": 1}
    )
    doors = ServiceContext(
        bucket=bucket, runners={"local": runner}, clock=clock, ids=ids, tasks=tasks, snapshot=lambda: None
    )
    request = ids.new()
    spec = new_jobspec(name="tell", user="ann", project="red", command=TELL, resources={"v4": 1})
    bucket.create(layout.request("ann", request), encode(Submit(spec=spec)))
    bastion = loop.begin(
        doors, loop.ThisBastion(name="b", host="here", boot="b", pid=1, alive=lambda _pid: False), POLL_S
    )
    try:
        run_until(bastion, lambda: bool(bastion.journal.state.live))
        yield bastion, bucket, job_id(spec.name, request)
    finally:
        bastion.close()
        for machine in runner.list():
            runner.delete(machine.id)
        tasks.close()
