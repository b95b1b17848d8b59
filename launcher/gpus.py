"""The GPUs of a job's live attempts, as their workers saw them last."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import msgspec

from bastion import layout
from bastion.codec import decode
from bastion.errors import BucketError, Missing, RecordError
from bastion.gpus import Gpu, line
from bastion.ports import AttemptKey, Bucket, Tasks
from bastion.records import PAPER_BYTES_MAX, Facts
from bastion.state import Job
from launcher.rows import Row, rfc3339

WORKERS_MAX = 64
"""Of a larger gang or array the first ones are shown: a read for each of its workers is too much for one look."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One GPU, and whose it is."""

    key: AttemptKey
    worker: int
    gpu: Gpu

    def line(self) -> str:
        """For people."""
        return f"task {self.key.task} worker {self.worker}  {line(self.gpu)}"

    def row(self) -> Row:
        """For scripts: null is what the driver does not offer."""
        told: dict[str, Any] = msgspec.structs.asdict(self.gpu)
        xids = None if self.gpu.xids is None else [{"code": xid.code, "at": rfc3339(xid.at)} for xid in self.gpu.xids]
        at = {"task": self.key.task, "attempt": self.key.attempt, "worker": self.worker}
        return {**at, **told, "xids": xids}


def gpus(bucket: Bucket, tasks: Tasks, job: Job, task: int | None = None) -> list[Seen]:
    """Those of the workers that run for a job, or for one task of it: a read for each of at most `WORKERS_MAX`."""
    live = (
        (AttemptKey(job.id, number, state.live.number), worker)
        for number, state in sorted(job.tasks.items())
        if state.live is not None and task in (None, number)
        for worker in range(len(state.live.workers))
    )
    posts = list(islice(live, WORKERS_MAX))
    told = tasks.map(lambda post: _facts(bucket, *post), posts)
    return [
        Seen(*post, gpu)
        for post, facts in zip(posts, told, strict=True)
        if isinstance(facts, Facts)
        for gpu in facts.gpus
    ]


def _facts(bucket: Bucket, key: AttemptKey, worker: int) -> Facts | None:
    """What a worker said last; None where it said nothing, or nothing that can be read."""
    name = layout.facts(key, worker)
    try:
        data = bucket.read(name).data
        return decode(data, Facts, name) if len(data) <= PAPER_BYTES_MAX else None
    except (Missing, RecordError, BucketError):
        return None
