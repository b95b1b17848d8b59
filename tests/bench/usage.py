"""What `bastion usage` takes for a million events: from the first object of a journal in a folder to its numbers."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

import psutil

from bastion.cli.bastion.usage import read_ledger
from bastion.model import layout
from bastion.model.codec import encode
from bastion.model.state.state import Cause, JobState
from bastion.model.stored.events import CapacityChanged, Claimed, Ended, Exited, FileChanged, Gone, Started, Submitted
from bastion.model.stored.journal_object import Gaps, pack
from bastion.platform.system import ThreadTasks
from bastion.schedule.ledger import BY
from bastion.schedule.ledger_table import entry_lines
from bastion.schedule.time_integral import Window
from tests.bench import jobs, stage
from tests.bench.rows import Row, lap

EVENTS, AT_ONCE = 1_000_000, 500
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
EACH = timedelta(days=30) / (EVENTS // AT_ONCE)
MB = 1_000_000


def rows() -> list[Row]:
    """Jobs of a kilobyte that wait, run and end, by project."""
    with stage.local_bucket() as (bucket, folder):
        (folder / "journal").mkdir(parents=True)
        story, seq = _events(), 0
        while batch := list(islice(story, min(AT_ONCE, EVENTS - seq * AT_ONCE))):
            data = pack(seq=seq, epoch=1, nonce="n", now=BEGAN + seq * EACH, events=batch)
            (folder / layout.journal(seq)).write_bytes(data)
            seq += 1
        before = _memory()
        gc.freeze()  # as the program does, once its code is loaded
        with lap() as taken:
            ledger = read_ledger(bucket, Window(BEGAN, BEGAN + seq * EACH), BY["project"], ThreadTasks().map, Gaps())
            lines = entry_lines(ledger, "project")
        assert sum(line.starts for line in lines) > EVENTS // 7
    return [
        Row("bastion usage over 1,000,000 events", taken.seconds, "s", 10),
        Row("  memory that it grows by meanwhile", (_memory() - before) / MB, "MB", 100),
    ]


def _events() -> Iterator[bytes]:
    """One job after the other, each submitted some way before it starts."""
    yield encode(FileChanged(file="quota", version="1", text=jobs.quota()))
    yield encode(CapacityChanged(runner="local", resources=dict(jobs.CAPACITY)))
    for number, spec in enumerate(jobs.specs(EVENTS)):
        yield encode(Submitted(request=f"{spec.user}/{number}", job=f"j-{number}", spec=spec))
        if number >= 1_000:
            yield from _run(f"j-{number - 1_000}")


def _run(job: str) -> Iterator[bytes]:
    yield encode(Started(job=job, task=0, attempt=0, runner="local", tier=0, workers=1))
    yield encode(Claimed(job=job, task=0, attempt=0, worker=0, machine=f"m-{job}", address="127.0.0.1", port=1))
    yield encode(Exited(job=job, task=0, attempt=0, worker=0, cause=Cause.OK, exit_code=0))
    yield encode(Gone(job=job, task=0, attempt=0, worker=0))
    yield encode(Ended(job=job, task=0, attempt=0, cause=Cause.OK, outcome=JobState.SUCCEEDED, reason="", exit_code=0))


def _memory() -> int:
    return int(psutil.Process().memory_info().rss)
