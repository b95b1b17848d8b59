"""The lines of the bastion's own log that name a job."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby

from bastion.journal import logs
from bastion.model import layout
from bastion.model.ports import Bucket, Stat, Tasks


def bastion_lines(bucket: Bucket, tasks: Tasks, job: str, *, since: datetime) -> Iterator[list[str]]:
    """Lines that hold the job's id, of all bastions that were at work since then, in their order."""
    stored = [stat for stat in bucket.list(layout.BASTION_LOG) if stat.modified >= since]
    for _, segments in groupby(stored, key=_log_of):
        lines = logs.Lines()
        for data in logs.read(bucket, list(segments), tasks.map):
            yield [line for line in lines.feed(data) if job in line]
        yield [line for line in lines.close() if job in line]


def _log_of(segment: Stat) -> str:
    """Each bastion has a log of its own, and may have fallen in the middle of a line."""
    return segment.key.rpartition("/")[0]
