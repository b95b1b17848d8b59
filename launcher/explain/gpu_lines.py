"""The GPUs of a job's live attempts, as their workers saw them last."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from bastion.model.interfaces import AttemptKey, Bucket, Tasks
from bastion.model.state.state import Job
from bastion.model.stored.gpu_facts import Gpu, line

from ..read.job_rows import Row, rfc3339
from .worker_facts import WorkerReport, facts_of


@dataclass(frozen=True, slots=True)
class GpuLine:
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


def gpus(bucket: Bucket, tasks: Tasks, job: Job, task: int | None = None) -> list[GpuLine]:
    """Those of the workers that run for a job, or for one task of it: a read for each of the first workers."""
    return gpus_in(facts_of(bucket, tasks, job, task))


def gpus_in(facts: Iterable[WorkerReport]) -> list[GpuLine]:
    """Those that these workers told of."""
    return [GpuLine(said.key, said.worker, gpu) for said in facts for gpu in said.facts.gpus]
