"""Logs in segments: however they were cut, what is read is what was written, once and in order."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bastion.journal import logs
from bastion.journal.logs import LineSplitter, LogExtent, LogReader, SegmentWriter, since, survey, tail
from bastion.launcher.logs.log_lines import LogSelection, LogStream
from bastion.model import layout
from bastion.model.errors import BucketError, RecordError
from bastion.model.interfaces import Stat
from bastion.platform.system import ThreadTasks
from bastion.stores.memory import MemoryBucket

PREFIX = "logs/j-1/0/0/0/"
PIECES = st.lists(st.binary(min_size=1, max_size=40), max_size=12)
_names = count()


def fresh() -> MemoryBucket:
    return MemoryBucket(f"memory://logs-{next(_names)}")


def written(pieces: list[bytes], *, end: bool = True) -> MemoryBucket:
    bucket = fresh()
    writer = SegmentWriter(bucket, PREFIX)
    for piece in pieces:
        writer.append(piece)
    if end:
        writer.end()
    return bucket


@given(PIECES)
def test_what_is_read_is_what_was_written(pieces: list[bytes]) -> None:
    bucket = written(pieces)
    extent = survey(bucket, PREFIX)
    assert extent.ended
    assert extent.size == len(b"".join(pieces))
    assert b"".join(logs.read(bucket, extent.segments, width=3)) == b"".join(pieces)


@given(PIECES, st.data())
def test_a_follower_from_any_point_gets_the_rest_once(pieces: list[bytes], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(pieces)))
    bucket = fresh()
    writer = SegmentWriter(bucket, PREFIX)
    for piece in pieces[:start]:
        writer.append(piece)
    follower = LogReader(bucket, PREFIX, survey(bucket, PREFIX).next)
    got: list[bytes] = []
    for piece in pieces[start:]:
        writer.append(piece)
        if data.draw(st.booleans()):
            got += follower.read_new()
    assert not follower.ended
    writer.end()
    got += follower.read_new()
    assert follower.ended
    assert b"".join(got) == b"".join(pieces[start:])


@given(PIECES, st.integers(0, 8))
def test_the_tail_is_the_last_lines(pieces: list[bytes], lines: int) -> None:
    bucket = written(pieces, end=False)
    whole = b"".join(pieces)
    expected = b"".join(line for line in _split(whole)[-lines:]) if lines else b""
    assert last(bucket, lines) == expected


def last(bucket: MemoryBucket, lines: int) -> bytes:
    found = tail(bucket, survey(bucket, PREFIX).segments, lines)
    pieces, surplus = [], found.surplus
    for data in logs.read(bucket, found.segments, held=found.held):
        piece, surplus = logs.after(data, surplus)
        pieces.append(piece)
    return b"".join(pieces)


@given(PIECES, st.integers(0, 8))
def test_a_tail_of_which_nothing_is_held_is_read_once_more(pieces: list[bytes], lines: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logs, "HELD_MAX", 0)
        bucket = written(pieces, end=False)
        whole = b"".join(pieces)
        assert last(bucket, lines) == (b"".join(_split(whole)[-lines:]) if lines else b"")


def test_of_a_line_without_end_a_tail_shows_the_end_and_says_so() -> None:
    bucket = written([b"x" * logs.SEGMENT_MAX] * 12, end=False)
    found = tail(bucket, survey(bucket, PREFIX).segments, 10)
    assert found.cut == "the last 10 lines have more than 16 MiB: their beginning is cut"
    assert len(last(bucket, 10)) == logs.HELD_MAX
    assert not tail(bucket, survey(bucket, PREFIX).segments[-1:], 10).cut


def _split(data: bytes) -> list[bytes]:
    parts = data.split(b"\n")
    return [part + b"\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def test_a_tail_reads_no_further_back_than_it_must() -> None:
    class Counting(MemoryBucket):
        reads = 0

        def read(self, key: str, limit: int | None = None):  # type: ignore[no-untyped-def]
            self.reads += 1
            return super().read(key, limit)

    written_to = written([b"line %d\n" % n for n in range(100)], end=False)
    bucket = Counting(written_to.url)
    assert last(bucket, 3) == b"line 97\nline 98\nline 99\n"
    assert bucket.reads <= 4


@given(PIECES, st.integers(1, 7))
def test_lines_do_not_depend_on_where_the_pieces_end(pieces: list[bytes], width: int) -> None:
    whole = b"".join(pieces)
    again = [whole[start : start + width] for start in range(0, len(whole), width)]
    assert list(_lines(pieces)) == list(_lines(again)) == list(_lines([whole]))


def _lines(pieces: list[bytes]) -> Iterator[str]:
    lines = LineSplitter()
    for piece in pieces:
        yield from lines.feed(piece)
    yield from lines.close()


def test_a_character_split_over_two_segments_is_whole_again() -> None:
    text = "größe 🚀\n".encode()
    assert list(_lines([text[:3], text[3:11], text[11:]])) == ["größe 🚀"]


def test_an_incomplete_last_line_and_wrong_utf8_are_shown() -> None:
    assert list(_lines([b"a\r\nb\xff\nrest"])) == ["a", "b�", "rest"]


def test_a_line_without_end_is_cut_and_does_not_fill_the_memory() -> None:
    lines = LineSplitter()
    pieces = lines.feed(b"x" * (2 * logs.LINE_MAX + 5))
    first, told, *more = [*pieces, *lines.close()]
    assert told == "[bastion] the line above has more than 1048576 bytes: it is cut here and goes on below"
    assert [len(piece) for piece in (first, *more)] == [logs.LINE_MAX, logs.LINE_MAX, 5]


def test_a_resumed_writer_goes_on_behind_the_stored_bytes() -> None:
    bucket = written([b"one", b"two"], end=False)
    writer = SegmentWriter(bucket, PREFIX)
    assert writer.resume().size == 6
    writer.append(b"three")
    writer.end()
    assert b"".join(LogReader(bucket, PREFIX).read_new()) == b"onetwothree"


def test_a_lost_answer_is_settled_by_the_same_bytes() -> None:
    class Forgetful(MemoryBucket):
        lose = True

        def create(self, key: str, data: bytes) -> str | None:
            version = super().create(key, data)
            if self.lose:
                self.lose = False
                raise BucketError("no answer")
            return version

    bucket = Forgetful(fresh().url)
    writer = SegmentWriter(bucket, PREFIX)
    with pytest.raises(BucketError):
        writer.append(b"once")
    writer.append(b"once")
    writer.end()
    assert b"".join(LogReader(bucket, PREFIX).read_new()) == b"once"


def test_a_second_writer_is_refused() -> None:
    bucket = written([b"mine"], end=False)
    with pytest.raises(RecordError, match="written by another process"):
        SegmentWriter(bucket, PREFIX).append(b"yours")


@pytest.mark.parametrize("size", [0, logs.SEGMENT_MAX + 1])
def test_a_segment_is_neither_empty_nor_too_large(size: int) -> None:
    with pytest.raises(ValueError, match="segment"):
        SegmentWriter(fresh(), PREFIX).append(b"x" * size)


def test_since_begins_with_the_first_segment_of_that_time() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    stats = tuple(Stat(layout.segment(PREFIX, n), str(n), 1, start + timedelta(minutes=n)) for n in range(5))
    assert since(stats, start + timedelta(minutes=2, seconds=1)) == stats[3:]
    assert since(stats, start) == stats
    assert since(stats, start + timedelta(hours=1)) == ()


def test_nothing_is_an_empty_log_that_goes_on() -> None:
    assert survey(fresh(), PREFIX) == LogExtent((), ended=False)
    assert survey(fresh(), PREFIX).next == 0


SIZE = 48


@pytest.mark.parametrize(
    "choice", [LogSelection(tail=10), LogSelection(), LogSelection(tail=0)], ids=["tail", "all", "none"]
)
def test_one_line_of_many_segments_is_shown_in_bounded_memory(choice: LogSelection) -> None:
    """As large a log as is quick to make: what is held must not grow with it."""
    bucket = written([bytes(logs.SEGMENT_MAX)] * SIZE, end=False)
    stream = LogStream(bucket, PREFIX, choice, worker=0, label="")
    shown = 0
    tracemalloc.start()
    try:
        for lines in stream.stored(ThreadTasks()):
            shown += sum(map(len, lines))
        shown += sum(map(len, stream.close()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40 * 2**20
    assert shown >= {None: SIZE * logs.SEGMENT_MAX, 10: logs.HELD_MAX, 0: 0}[choice.tail]
