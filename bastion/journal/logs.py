"""Store logs as immutable, numbered segments in a bucket. Each is written once, and any number of readers can follow.

Segments are numbered from 0 without gaps. An empty one ends the log. A segment ends wherever its writer's data ended,
also inside a line or a character. So readers join bytes first and split lines afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..model import layout
from ..model.errors import ObjectNotFound, RecordError
from ..model.interfaces import Bucket, Map, Stat
from ..stores.create_once import create_once
from .recover import one_by_one

SEGMENT_MAX = 4 * 1024 * 1024
"""Bytes of one segment, at most."""
LINE_MAX = 1024 * 1024
"""A line with more bytes than this is shown in parts."""
HELD_MAX = 16 * 1024 * 1024
"""About so many bytes of a log are in memory at one time."""

USUAL_LINE = 4 * 1024
"""The bytes that a tail expects of a line, at most. Of a log with longer lines, it may show fewer than asked for."""


@dataclass(frozen=True, slots=True)
class LogExtent:
    """The extent of a log, by one listing.

    segments: its segments in order, without the end marker.
    ended: True if the end marker was there.
    """

    segments: tuple[Stat, ...]
    ended: bool

    @property
    def next(self) -> int:
        """Return the number of the segment that a follower reads next."""
        return layout.seq_of(self.segments[-1].key) + 1 if self.segments else 0

    @property
    def size(self) -> int:
        """Return the bytes in all segments."""
        return sum(stat.size for stat in self.segments)


def survey(bucket: Bucket, prefix: str) -> LogExtent:
    """Return what the log holds now."""
    listed = tuple(bucket.list(prefix))
    ended = bool(listed) and listed[-1].size == 0
    return LogExtent(listed[:-1] if ended else listed, ended)


class SegmentWriter:
    """The only writer of a log.

    After a `BucketError`, append the *same* bytes again: they then become the same segment.
    """

    def __init__(self, bucket: Bucket, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._next = 0

    def resume(self) -> LogExtent:
        """Continue after the segments that are stored, and return these."""
        extent = survey(self._bucket, self._prefix)
        self._next = extent.next
        return extent

    def append(self, data: bytes) -> None:
        """Store 1 to `SEGMENT_MAX` bytes as the next segment.

        Raises `RecordError` if another writer wrote that segment, `ValueError` for another number of bytes.
        """
        if not 0 < len(data) <= SEGMENT_MAX:
            raise ValueError(f"a segment of {len(data)} bytes")
        self._create(data)

    def end(self) -> None:
        """Mark the end of the log."""
        self._create(b"")

    def _create(self, data: bytes) -> None:
        key = layout.segment(self._prefix, self._next)
        if not create_once(self._bucket, key, data).mine:
            raise RecordError(f"log segment {key} was written by another process")
        self._next += 1


def read(
    bucket: Bucket,
    segments: Sequence[Stat],
    at_once: Map = one_by_one,
    *,
    width: int = 16,
    held: Mapping[str, bytes] | None = None,
) -> Iterator[bytes]:
    """Yield the bytes of these segments in order.

    One call of `at_once` reads at most `width` segments and about `HELD_MAX` bytes. Segments in `held` are not read
    again.
    """

    def one(stat: Stat) -> bytes:
        return held[stat.key] if held and stat.key in held else bucket.read(stat.key, SEGMENT_MAX).data

    for some in _batches(segments, width):
        for data in at_once(one, some):
            if isinstance(data, Exception):
                raise data
            yield data


def _batches(segments: Sequence[Stat], width: int) -> Iterator[list[Stat]]:
    batch: list[Stat] = []
    size = 0
    for stat in segments:
        if batch and (len(batch) == width or size + stat.size > HELD_MAX):
            yield batch
            batch, size = [], 0
        batch.append(stat)
        size += stat.size
    if batch:
        yield batch


@dataclass(frozen=True, slots=True)
class LogTail:
    """The end of a log.

    segments: the segments that hold it.
    surplus: how many line ends lie before the first line that was asked for.
    cut: why it begins later than it was asked to; empty if it does not.
    held: the bytes of segments that were read already, by key.
    """

    segments: Sequence[Stat] = ()
    surplus: int = 0
    cut: str = ""
    held: Mapping[str, bytes] = field(default_factory=dict)


def tail(bucket: Bucket, segments: Sequence[Stat], lines: int) -> LogTail:
    """Find the last `lines` lines. An incomplete last line counts as one.

    Segments are read backwards, no further than needed, and not much further than so many lines of the usual length. Of
    an endless line, only its end is shown. The newest `HELD_MAX` bytes are kept on the way; before them, only lines are
    counted.
    """
    if lines <= 0 or not segments:
        return LogTail()
    most = max(HELD_MAX, lines * USUAL_LINE)
    held: dict[str, bytes] = {}
    first, breaks, size, ends = len(segments), 0, 0, 0
    while first and breaks <= lines and size < most:
        first -= 1
        data = bucket.read(segments[first].key, SEGMENT_MAX).data
        ends = ends if size else int(data.endswith(b"\n"))
        breaks, size = breaks + data.count(b"\n"), size + len(data)
        if size <= HELD_MAX:
            held[segments[first].key] = data
    surplus = breaks - ends - lines + 1
    cut = (
        f"the last {lines} lines have more than {most >> 20} MiB: their beginning is cut"
        if first and surplus <= 0
        else ""
    )
    return LogTail(segments[first:], surplus, cut, held)


def after(data: bytes, surplus: int) -> tuple[bytes, int]:
    """Return the data after so many line ends, and how many line ends are still to come."""
    start = 0
    while surplus > 0 and (found := data.find(b"\n", start)) >= 0:
        start, surplus = found + 1, surplus - 1
    return (b"", surplus) if surplus > 0 else (data[start:], 0)


def since(segments: Sequence[Stat], moment: datetime) -> tuple[Stat, ...]:
    """Return the segments from the first one that was stored at or after `moment`."""
    first = next((n for n, stat in enumerate(segments) if stat.modified >= moment), len(segments))
    return tuple(segments[first:])


class LogReader:
    """A reader that follows a log as it grows, from segment `number` on, without loss or repetition.

    `ended` is True once the end of the log was read.
    """

    def __init__(self, bucket: Bucket, prefix: str, number: int = 0) -> None:
        self.ended = False
        self._bucket = bucket
        self._prefix = prefix
        self._next = number

    def read_new(self) -> Iterator[bytes]:
        """Yield what came since the last call. It costs one request per new segment, and one that finds nothing."""
        while not self.ended:
            try:
                data = self._bucket.read(layout.segment(self._prefix, self._next), SEGMENT_MAX).data
            except ObjectNotFound:
                return
            self._next += 1
            self.ended = not data
            if data:
                yield data


class LineSplitter:
    """Split bytes, as they come, into lines of text without their ends.

    A line of more than `most` bytes is shown in parts. A line of our own after the first part says so.
    """

    def __init__(self, most: int = LINE_MAX) -> None:
        self._most = most
        self._rest = b""
        self._parted = False

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that `data` completes."""
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = self._rest + whole[0]
            self._rest, self._parted = b"", False
        shown = [_text(line) for line in whole]
        self._rest += rest
        while len(self._rest) > self._most:
            shown.append(_text(self._rest[: self._most]))
            self._rest = self._rest[self._most :]
            if not self._parted:
                self._parted = True
                shown.append(
                    f"[bastion] the line above has more than {self._most} bytes: it is cut here and goes on below"
                )
        return shown

    def close(self) -> list[str]:
        """Return the last line, if it had no line end."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
