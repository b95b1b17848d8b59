"""The logs of an attempt's workers as lines, and the lines of the bastion's own log that mention one job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from bastion.journal import logs
from bastion.model import layout
from bastion.model.errors import UsageError
from bastion.model.interfaces import AttemptKey, Bucket, Stat, Tasks

_SHORTEST_CUT, _TASKS = 16 * 1024, 100
"""Bounds for lines without end: all followed logs share one limit of memory, but no line is cut below the first."""

_WORKERS = re.compile(r"([0-9]{1,6})(?:-([0-9]{1,6}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSelection:
    """The part of the logs that is wanted. None means no limit.

    tail: number of last lines of each worker.
    since: only output that was stored then or later.
    workers: numbers of the workers.
    attempt: number of the attempt; None: the newest.
    grep: only lines that match this.
    """

    tail: int | None = None
    since: datetime | None = None
    workers: frozenset[int] | None = None
    attempt: int | None = None
    grep: re.Pattern[str] | None = None


class LogStream:
    """The log of one worker. Mutable. After an error, call again: nothing is lost and nothing repeated."""

    def __init__(
        self,
        bucket: Bucket,
        prefix: str,
        choice: LogSelection,
        *,
        worker: int,
        label: str,
        longest: int = logs.LINE_MAX,
    ) -> None:
        self.worker = worker
        self._bucket, self._prefix, self._choice, self._label = bucket, prefix, choice, label
        self._lines = logs.LineSplitter(longest)
        self._next = self._surplus = 0
        self._follower: logs.LogReader | None = None

    @property
    def ended(self) -> bool:
        """True if the end marker was read: nothing follows."""
        return self._follower is not None and self._follower.ended

    def stored(self, tasks: Tasks) -> Iterator[list[str]]:
        """Yield what the log holds now, read many segments at a time."""
        extent = logs.survey(self._bucket, self._prefix)
        segments = [stat for stat in self._chosen(extent) if layout.seq_of(stat.key) >= self._next]
        held: Mapping[str, bytes] = {}
        if self._choice.tail is not None and not self._next:
            tail = logs.tail(self._bucket, segments, self._choice.tail)
            segments, held, self._surplus = list(tail.segments), tail.held, tail.surplus
            if tail.cut:
                yield [f"{self._label}[bastion] {tail.cut}; without --tail all of the log is printed"]
        for stat, data in zip(segments, logs.read(self._bucket, segments, tasks.map, held=held), strict=True):
            self._next = layout.seq_of(stat.key) + 1
            data, self._surplus = logs.after(data, self._surplus)
            yield self._shown(self._lines.feed(data))
        self._follower = logs.LogReader(self._bucket, self._prefix, extent.next)

    def more(self, tasks: Tasks) -> Iterator[list[str]]:
        """Yield what has come since the last call."""
        if self._follower is None:
            yield from self.stored(tasks)
            return
        for data in self._follower.read_new():
            yield self._shown(self._lines.feed(data))

    def close(self) -> list[str]:
        """Return the last line if it has no line end."""
        return self._shown(self._lines.close())

    def _chosen(self, extent: logs.LogExtent) -> Sequence[Stat]:
        return logs.since(extent.segments, self._choice.since) if self._choice.since else extent.segments

    def _shown(self, lines: list[str]) -> list[str]:
        grep = self._choice.grep
        return [self._label + line for line in lines if grep is None or grep.search(line)]


def streams(
    bucket: Bucket, key: AttemptKey, workers: int, choice: LogSelection, *, task: int | None = None
) -> list[LogStream]:
    """Return the chosen logs of an attempt.

    Each line names its worker if there are several, and the `task` if one is given.
    """
    numbers = [n for n in range(workers) if choice.workers is None or n in choice.workers]
    labels = {n: _label(task, n if workers > 1 else None) for n in numbers}
    longest = min(
        logs.LINE_MAX, max(_SHORTEST_CUT, logs.HELD_MAX // max(1, len(numbers) * (1 if task is None else _TASKS)))
    )
    return [LogStream(bucket, layout.log(key, n), choice, worker=n, label=labels[n], longest=longest) for n in numbers]


def _label(task: int | None, worker: int | None) -> str:
    words = ".".join([*([] if task is None else [str(task)]), *([] if worker is None else [f"w{worker:03d}"])])
    return f"[{words}] " if words else ""


def pattern(text: str) -> re.Pattern[str]:
    """Compile a regular expression. Raises `UsageError`."""
    try:
        return re.compile(text)
    except re.error as error:
        raise UsageError(f"--grep is {text[:64]!r}: {error}; use a regular expression of Python") from error


def worker_list(text: str) -> frozenset[int]:
    """Parse `0,3-7` into numbers. Raises `UsageError`."""
    found: set[int] = set()
    for part in text.split(","):
        match = _WORKERS.fullmatch(part.strip())
        if not match:
            raise UsageError(f"--worker is {text[:64]!r}; use numbers and ranges, as in 0,3-7")
        found |= set(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found)


def bastion_lines(bucket: Bucket, tasks: Tasks, job: str, *, since: datetime) -> Iterator[list[str]]:
    """Yield the lines that contain the job's id, in order, from all bastions that ran since then."""
    stored = [stat for stat in bucket.list(layout.BASTION_LOG) if stat.modified >= since]
    for _, segments in groupby(stored, key=_log_of):
        lines = logs.LineSplitter()
        for data in logs.read(bucket, list(segments), tasks.map):
            yield [line for line in lines.feed(data) if job in line]
        yield [line for line in lines.close() if job in line]


def _log_of(segment: Stat) -> str:
    """Return the key of the log of a segment. Each bastion has its own log, which may end in the middle of a line."""
    return segment.key.rpartition("/")[0]
