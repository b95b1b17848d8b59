"""Logs as immutable, numbered segments in a bucket: written once, followed by anyone.

Segments are numbered from 0 without gaps; an empty one ends the log. A segment ends wherever its writer's data
ended, also inside a line or a character: readers join bytes first and split lines after.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from ..model import layout
from ..model.at_once import Map, one_by_one
from ..model.errors import Missing, RecordError
from ..model.interfaces import Bucket, Stat
from ..stores.create_once import create_once

SEGMENT_MAX = 4 * 1024 * 1024
LINE_MAX = 1024 * 1024
HELD_MAX = 16 * 1024 * 1024
"""So many bytes of a log are in memory at one time, about."""

USUAL_LINE = 4 * 1024
"""Lines are not much longer than this. Of a log whose lines are, a tail shows less than was asked for."""


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


def read(
    bucket: Bucket,
    segments: Sequence[Stat],
    at_once: Map = one_by_one,
    *,
    width: int = 16,
    held: Mapping[str, bytes] | None = None,
) -> Iterator[bytes]:
    """The bytes of these segments in order: by one `at_once` at most `width` of them, and no more than `HELD_MAX` bytes.
    Those that are `held` are not read.
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
class Tail:
    """The end of a log: its `segments`, of which some are `held`, and how many line ends lie before what was asked for.

    `cut`: it begins later than it was asked to, and this says so.
    """

    segments: Sequence[Stat] = ()
    surplus: int = 0
    cut: str = ""
    held: Mapping[str, bytes] = field(default_factory=dict)


def tail(bucket: Bucket, segments: Sequence[Stat], lines: int) -> Tail:
    """The last `lines` lines. An incomplete last line counts as one.

    Read backwards no further than needed, nor much further than so many lines of a usual length: of a line without end only
    its own end is shown. The newest `HELD_MAX` bytes are kept on the way; of what lies before them only lines are counted.
    """
    if lines <= 0 or not segments:
        return Tail()
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
    return Tail(segments[first:], surplus, cut, held)


def after(data: bytes, surplus: int) -> tuple[bytes, int]:
    """What follows so many line ends, and how many of them are still to come."""
    start = 0
    while surplus > 0 and (found := data.find(b"\n", start)) >= 0:
        start, surplus = found + 1, surplus - 1
    return (b"", surplus) if surplus > 0 else (data[start:], 0)


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
    """Splits bytes, as they come, into lines of text without their ends. A line of more than `most` bytes is shown in parts,
    and a line of ours behind the first part says so.
    """

    def __init__(self, most: int = LINE_MAX) -> None:
        self._most = most
        self._rest = b""
        self._parted = False

    def feed(self, data: bytes) -> list[str]:
        """The lines that `data` completes."""
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
                    f"[bastion] the line above has no end in {self._most} bytes: it is cut here, and goes on below"
                )
        return shown

    def close(self) -> list[str]:
        """The last line, if it was not ended."""
        rest, self._rest = self._rest, b""
        return [_text(rest)] if rest else []


def _text(line: bytes) -> str:
    return line.removesuffix(b"\r").decode("utf-8", "replace")
