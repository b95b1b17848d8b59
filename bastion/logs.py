"""Logs as immutable, numbered segments in a bucket: written once, followed by anyone.

Segments are numbered from 0 without gaps; an empty one ends the log. A segment ends wherever its writer's data
ended, also inside a line or a character: readers join bytes first and split lines after.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from bastion import layout
from bastion.at_once import Map, one_by_one
from bastion.errors import Missing, RecordError
from bastion.once import create_once
from bastion.ports import Bucket, Stat

SEGMENT_MAX = 4 * 1024 * 1024
LINE_MAX = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Extent:
    """What one listing showed of a log: its segments without the end marker, and whether it has ended."""

    segments: tuple[Stat, ...]
    ended: bool

    @property
    def next(self) -> int:
        """The number of the segment that a follower reads next."""
        return layout.seq_of(self.segments[-1].key) + 1 if self.segments else 0

    @property
    def size(self) -> int:
        """Bytes in all segments."""
        return sum(stat.size for stat in self.segments)


def survey(bucket: Bucket, prefix: str) -> Extent:
    """What the log holds now."""
    listed = tuple(bucket.list(prefix))
    ended = bool(listed) and listed[-1].size == 0
    return Extent(listed[:-1] if ended else listed, ended)


class SegmentWriter:
    """The one writer of a log. After a `BucketError` append the *same* bytes again: it is then the same segment."""

    def __init__(self, bucket: Bucket, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._next = 0

    def resume(self) -> Extent:
        """Go on after what is stored: that."""
        extent = survey(self._bucket, self._prefix)
        self._next = extent.next
        return extent

    def append(self, data: bytes) -> None:
        """Store 1 to `SEGMENT_MAX` bytes as the next segment. `RecordError` if somebody else wrote that one."""
        if not 0 < len(data) <= SEGMENT_MAX:
            raise ValueError(f"a segment of {len(data)} bytes")
        self._create(data)

    def end(self) -> None:
        """Say that nothing follows."""
        self._create(b"")

    def _create(self, data: bytes) -> None:
        key = layout.segment(self._prefix, self._next)
        if not create_once(self._bucket, key, data).mine:
            raise RecordError(f"log segment {key} was written by somebody else")
        self._next += 1


def read(bucket: Bucket, segments: Sequence[Stat], at_once: Map = one_by_one, *, width: int = 16) -> Iterator[bytes]:
    """The bytes of these segments in order, `width` of them read by one `at_once`."""
    for first in range(0, len(segments), width):
        for data in at_once(lambda stat: bucket.read(stat.key, SEGMENT_MAX).data, segments[first : first + width]):
            if isinstance(data, Exception):
                raise data
            yield data


def tail(bucket: Bucket, segments: Sequence[Stat], lines: int) -> bytes:
    """The last `lines` lines; reads backwards no further than needed. An incomplete last line counts as one."""
    if lines <= 0:
        return b""
    found: list[bytes] = []
    breaks = 0
    for stat in reversed(segments):
        found.append(bucket.read(stat.key, SEGMENT_MAX).data)
        breaks += found[-1].count(b"\n")
        if breaks > lines:
            break
    return _last(b"".join(reversed(found)), lines)


def _last(data: bytes, lines: int) -> bytes:
    start = len(data) - data.endswith(b"\n")
    for _ in range(lines):
        start = data.rfind(b"\n", 0, start)
        if start < 0:
            return data
    return data[start + 1 :]


def since(segments: Sequence[Stat], moment: datetime) -> tuple[Stat, ...]:
    """The segments from the first one on that was stored at or after `moment`."""
    first = next((n for n, stat in enumerate(segments) if stat.modified >= moment), len(segments))
    return tuple(segments[first:])


class Follower:
    """Reads a log as it grows, from segment `number` on; loses and repeats nothing. `ended` once its end was read."""

    def __init__(self, bucket: Bucket, prefix: str, number: int = 0) -> None:
        self.ended = False
        self._bucket = bucket
        self._prefix = prefix
        self._next = number

    def read_new(self) -> Iterator[bytes]:
        """What came since the last call: one request for each new segment, and one that finds nothing."""
        while not self.ended:
            try:
                data = self._bucket.read(layout.segment(self._prefix, self._next), SEGMENT_MAX).data
            except Missing:
                return
            self._next += 1
            self.ended = not data
            if data:
                yield data


class Lines:
    """Splits bytes, as they come, into lines of text without their ends. Longer lines than `LINE_MAX` bytes are cut."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The lines that `data` completes."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > LINE_MAX:
            whole.append(self._rest[:LINE_MAX])
            self._rest = self._rest[LINE_MAX:]
        return [_text(line) for line in whole]

    def close(self) -> list[str]:
        """The last line, if it was not ended."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
