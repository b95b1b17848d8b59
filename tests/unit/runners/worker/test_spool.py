"""The output's way into the log: nothing lost or doubled by a failing bucket, and a limit that says what it cost."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bastion.journal.logs import LogReader, SegmentWriter
from bastion.model.errors import BucketError, RecordError
from bastion.runners.worker.job_output import JobOutput
from bastion.runners.worker.spool import Spool
from bastion.stores.memory import MemoryBucket
from tests.sim.hosts import host
from tests.simulation.parts.host import SimHost

PREFIX = "logs/j-1/0/0/0/"
_names = count()


class Moody(MemoryBucket):
    """Fails a create as told: before it is done, or after."""

    def __init__(self, moods: list[str]) -> None:
        super().__init__(f"memory://spool-{next(_names)}")
        self.moods = moods

    def create(self, key: str, data: bytes) -> str | None:
        mood = self.moods.pop() if self.moods else ""
        if mood == "refuse":
            raise BucketError("no")
        version = super().create(key, data)
        if mood == "forget":
            raise BucketError("no answer")
        return version


def spool_on(machine: SimHost, bucket: MemoryBucket, limit: int = 10**6, segment: int = 7) -> Spool:
    return Spool(JobOutput(machine), SegmentWriter(bucket, PREFIX), limit, segment_max=segment)


def flush(spool: Spool) -> None:
    while True:
        try:
            spool.flush()
        except BucketError:
            continue
        return


def stored(bucket: MemoryBucket) -> bytes:
    follower = LogReader(bucket, PREFIX)
    data = b"".join(follower.read_new())
    assert follower.ended
    return data


@given(st.lists(st.binary(max_size=30)), st.lists(st.sampled_from(["", "refuse", "forget"])))
def test_all_output_arrives_once_whatever_the_bucket_does(pieces: list[bytes], moods: list[str]) -> None:
    machine, bucket = host(), Moody(moods)
    spool = spool_on(machine, bucket)
    for piece in pieces:
        machine.log += piece
        try:
            spool.flush()
        except BucketError:
            continue
    spool.close("the end")
    flush(spool)
    assert spool.ended
    assert stored(bucket) == b"".join(pieces) + b"[bastion] the end\n"


def test_a_full_spool_drops_the_newest_and_says_how_much() -> None:
    machine, bucket = host(), Moody([])
    spool = spool_on(machine, bucket, limit=10)
    machine.log += b"0123456789abc"
    spool.curb()
    machine.log += b"defgh"
    spool.curb()
    assert machine.log == b"0123456789" + bytes(8)
    spool.flush()
    machine.log += b"later"
    spool.curb()
    spool.close()
    flush(spool)
    text = stored(bucket).decode()
    assert text.startswith("0123456789\n[bastion] dropped 8 bytes")
    assert text.endswith("\nlater")


@given(st.lists(st.tuples(st.binary(max_size=20), st.booleans(), st.booleans())))
def test_what_was_dropped_and_what_was_stored_is_all_there_was(turns: list[tuple[bytes, bool, bool]]) -> None:
    machine, bucket = host(), Moody([])
    spool = spool_on(machine, bucket, limit=16)
    written = 0
    for piece, curbs, flushes in turns:
        machine.log += piece.replace(b"[", b"(")
        written += len(piece)
        if curbs:
            spool.curb()
        if flushes:
            spool.flush()
    spool.close()
    flush(spool)
    dropped, kept = 0, 0
    for part in stored(bucket).split(b"\n[bastion] dropped "):
        if part is not None and b" bytes of output here: " in part:
            number, _, rest = part.partition(b" bytes of output here: ")
            dropped += int(number)
            part = rest.partition(b"\n")[2]
        kept += len(part)
    assert kept + dropped == written


@given(st.lists(st.tuples(st.binary(max_size=20), st.sampled_from(["", "curb", "flush", "both", "fall"]))))
def test_who_goes_on_for_a_fallen_worker_loses_and_repeats_nothing(turns: list[tuple[bytes, str]]) -> None:
    """The same output and the same turns, with falls of the worker between them and without: the same log."""
    logs = []
    for falls in (True, False):
        machine, bucket = host(), Moody([])
        spool = spool_on(machine, bucket, limit=16)
        for piece, turn in turns:
            machine.log += piece
            if turn in ("curb", "both"):
                spool.curb()
            if turn in ("flush", "both"):
                spool.flush()
            if turn == "fall" and falls:
                spool = spool_on(machine, bucket, limit=16)
                spool.resume()
        spool.close("the end")
        flush(spool)
        logs.append(stored(bucket))
    assert logs[0] == logs[1]


def test_a_segment_of_the_fallen_worker_that_arrives_late_is_not_repeated() -> None:
    machine, bucket = host(), Moody([])
    machine.log += b"0123456789"
    first = spool_on(machine, bucket)
    second = spool_on(machine, bucket)
    second.resume()
    first.flush()  # what it had sent before it fell
    machine.log += b"abc"
    second.close()
    flush(second)
    assert stored(bucket) == b"0123456789abc"


def test_a_log_that_is_ended_stays_as_it_is() -> None:
    machine, bucket = host(), Moody([])
    machine.log += b"all"
    first = spool_on(machine, bucket)
    first.close()
    first.flush()
    second = spool_on(machine, bucket)
    second.resume()
    second.close("too late")
    flush(second)
    assert second.ended
    assert stored(bucket) == b"all"


def test_a_foreign_segment_ends_the_log_instead_of_the_worker() -> None:
    machine, bucket = host(), Moody([])
    SegmentWriter(bucket, PREFIX).append(b"somebody else's")
    spool = spool_on(machine, bucket)
    machine.log += b"mine"
    with pytest.raises(RecordError):
        spool.flush()
    assert spool.ended


def test_the_end_is_written_once() -> None:
    machine, bucket = host(), Moody(["forget", "refuse"])
    spool = spool_on(machine, bucket)
    spool.close()
    flush(spool)
    flush(spool)
    assert [stat.size for stat in bucket.list(PREFIX)] == [0]


SAYS = "\n[bastion] the job truncated its own output: at least {} bytes are not in this log\n"


@given(st.binary(max_size=200), st.binary(max_size=50), st.binary(max_size=300), st.booleans())
def test_a_job_that_truncates_its_output_loses_nothing_that_it_prints_later(
    before: bytes, unseen: bytes, later: bytes, looked: bool
) -> None:
    machine, bucket = host(), Moody([])
    spool = spool_on(machine, bucket)
    machine.log += before
    spool.flush()
    machine.log += unseen
    spool.curb()
    machine.log.clear()
    if looked:
        spool.curb()
    machine.log += later
    spool.close()
    flush(spool)
    size = len(before + unseen)
    assume(looked or len(later) < size)  # else only other bytes tell it, and they may be the same
    said = SAYS.format(len(unseen)).encode() if size else b""
    assert stored(bucket) == before + said + later


def test_more_than_was_there_before_is_known_by_its_bytes() -> None:
    machine, bucket = host(), Moody([])
    spool = spool_on(machine, bucket)
    machine.log += b"one\ntwo\n"
    spool.flush()
    machine.log[:] = b"three\nfour\nfive\n"
    spool.flush()
    machine.log += b"six\n"
    spool.close()
    flush(spool)
    assert stored(bucket) == b"one\ntwo\n" + SAYS.format(0).encode() + b"three\nfour\nfive\nsix\n"


def test_a_gap_that_was_open_is_gone_with_what_was_truncated() -> None:
    machine, bucket = host(), Moody([])
    spool = spool_on(machine, bucket, limit=10)
    machine.log += b"0123456789abc"
    spool.curb()
    machine.log.clear()
    machine.log += b"new\n"
    spool.curb()
    spool.close()
    flush(spool)
    assert stored(bucket) == SAYS.format(13).encode() + b"new\n"
    assert machine.kept_gaps == {}
