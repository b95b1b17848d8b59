"""The GPUs of a job's live attempts, as their workers reported them last."""

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
    """One GPU of a worker.

    key: attempt of the worker.
    worker: number of the worker.
    gpu: last report on the GPU.
    """

    key: AttemptKey
    worker: int
    gpu: Gpu

    def line(self) -> str:
        """Return a line for people."""
        return f"task {self.key.task} worker {self.worker}  {line(self.gpu)}"

    def row(self) -> Row:
        """Return a row for scripts. Values that the driver does not offer are null."""
        told: dict[str, Any] = msgspec.structs.asdict(self.gpu)
        xids = None if self.gpu.xids is None else [{"code": xid.code, "at": rfc3339(xid.at)} for xid in self.gpu.xids]
        at = {"task": self.key.task, "attempt": self.key.attempt, "worker": self.worker}
        return {**at, **told, "xids": xids}


def gpus(bucket: Bucket, tasks: Tasks, job: Job, task: int | None = None) -> list[GpuLine]:
    """Read the GPUs of the live workers of a job, or of one task. Takes one read for each of the first workers."""
    return gpus_in(facts_of(bucket, tasks, job, task))


def gpus_in(facts: Iterable[WorkerReport]) -> list[GpuLine]:
    """List the GPUs in these reports."""
    return [GpuLine(said.key, said.worker, gpu) for said in facts for gpu in said.facts.gpus]
