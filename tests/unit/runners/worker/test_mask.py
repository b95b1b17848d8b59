"""Secrets in the output: hidden wherever the output is cut, and nothing else is."""

from __future__ import annotations

import re
from base64 import b64encode, urlsafe_b64encode
from itertools import count
from urllib.parse import quote, quote_plus

from hypothesis import example, given, settings
from hypothesis import strategies as st

from bastion.journal.logs import LogReader, SegmentWriter
from bastion.runners.worker.job_output import JobOutput
from bastion.runners.worker.secret_mask import Mask
from bastion.runners.worker.spool import Spool
from bastion.stores.memory import MemoryBucket
from tests.depth import examples
from tests.sim.hosts import host
from tests.simulation.parts.host import SimHost

TOKEN = b"hf_aBcDeFgHiJkL"
PREFIX = "logs/j-1/0/0/0/"
few = st.text("ab\n", max_size=14).map(str.encode)
parts = st.sampled_from([b"abab", b"aabba", b"abbaa", b"ab", b"a", b"bba", b"x\n", b"abababab", b"aabbaabbaa"])
"""Of which values are often put together."""
VALUES = [b"abababab", b"aabbaabbaa"]
_names = count()


def naive(values: list[bytes], data: bytes) -> bytes:
    """The definition, byte by byte: hidden is what lies in an occurrence of a value, or of a line of it."""
    out = bytearray(data)
    for text in {text for value in values for text in (value, *value.splitlines()) if len(text) >= 8}:
        for match in re.finditer(b"(?=" + re.escape(text) + b")", data):
            for at in range(match.start(), match.start() + len(text)):
                out[at] = data[at] if data[at] == ord("\n") else ord("*")
    return bytes(out)


def spool_of(machine: SimHost, values: list[bytes], *, limit: int = 10**6) -> tuple[Spool, MemoryBucket]:
    bucket = MemoryBucket(f"memory://mask-{next(_names)}")
    output = JobOutput(machine)
    output.hide(map(bytes.decode, values))
    return Spool(output, SegmentWriter(bucket, PREFIX), limit, segment_max=7), bucket


def stored(bucket: MemoryBucket) -> bytes:
    return b"".join(LogReader(bucket, PREFIX).read_new())


@given(st.lists(few, max_size=3), st.text("ab\n", max_size=80).map(str.encode))
@example([b"abaababaab"], b"abaababaababaab" * 3)
@example([b"a" * 9, b"a" * 8 + b"b"], b"a" * 30 + b"b")
def test_all_of_a_value_is_hidden_and_nothing_else(values: list[bytes], data: bytes) -> None:
    assert Mask(map(bytes.decode, values)).hidden(data) == naive(values, data)


@settings(max_examples=examples(150))
@given(st.lists(parts, max_size=20))
def test_it_is_the_same_however_the_output_comes_and_is_cut(pieces: list[bytes]) -> None:
    machine = host()
    spool, bucket = spool_of(machine, VALUES)
    whole = naive(VALUES, b"".join(pieces))
    for piece in pieces:
        machine.log += piece
        spool.flush()
        assert whole.startswith(stored(bucket))  # what may still become a value is not told yet
    spool.close()
    spool.flush()
    assert stored(bucket) == whole


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(parts, st.booleans(), st.booleans()), max_size=24), st.integers(1, 40))
def test_a_value_is_hidden_also_where_output_was_dropped(turns: list[tuple[bytes, bool, bool]], limit: int) -> None:
    machine = host()
    spool, bucket = spool_of(machine, VALUES, limit=limit)
    whole = b""
    for piece, curbs, flushes in turns:
        machine.log += piece
        whole += piece
        if curbs:
            spool.curb()
        if flushes:
            spool.flush()
    spool.close()
    spool.flush()
    at, shown = 0, naive(VALUES, whole)
    note = re.compile(rb"\n\[bastion\] dropped (\d+) bytes of output here: [^\n]*\n")
    *parts, last = note.split(stored(bucket))
    for kept, dropped in zip(parts[::2], parts[1::2], strict=True):
        assert shown[at : at + len(kept)] == kept
        at += len(kept) + int(dropped)
    assert shown[at:] == last


def test_a_value_that_comes_in_two_pieces_is_told_when_it_is_whole() -> None:
    machine = host()
    spool, bucket = spool_of(machine, [TOKEN])
    machine.log += b"key: " + TOKEN[:6]
    spool.flush()
    assert stored(bucket) == b"key: "
    machine.log += TOKEN[6:] + b".\n"
    spool.flush()
    assert stored(bucket) == b"key: " + b"*" * len(TOKEN) + b".\n"


def test_lines_of_a_value_are_hidden_one_by_one() -> None:
    key = b"-----BEGIN KEY-----\nabcdefghijkl\nxyz\n-----END KEY-----"
    shown = Mask([key.decode()]).hidden(key + b"\n| abcdefghijkl\n| xyz\n")
    assert shown == b"*" * 19 + b"\n" + b"*" * 12 + b"\n***\n" + b"*" * 17 + b"\n| ************\n| xyz\n"


def test_the_last_output_is_masked_by_what_came_before_it() -> None:
    machine = host()
    output = JobOutput(machine)
    output.hide([TOKEN.decode()])
    machine.log += b"Error: " + TOKEN
    assert output.last(5) == b"*****"
    assert output.last(10**6) == b"Error: " + b"*" * len(TOKEN)


def test_a_value_that_repeats_itself_costs_no_more_than_its_output() -> None:
    """Quadratic work, 4 MiB by 32 KiB, would take hours."""
    for value in (b"a" * 32768, b"ab" * 16384 + b"a", b"a" * 32767 + b"b"):
        mask, data = Mask([value.decode()]), b"a" * 2**22 if value[1:2] == b"a" else b"ab" * 2**21
        assert set(mask.hidden(data + value)) <= {ord("*"), *b"ab"}
        assert mask.held(data) <= mask.reach


@given(st.binary(max_size=7), st.binary(min_size=8, max_size=40), st.binary(max_size=7), st.booleans())
def test_in_base64_no_letter_is_shown_that_tells_of_a_value_alone(
    before: bytes, value: bytes, after: bytes, urls: bool
) -> None:
    text = value.decode("utf-8", "surrogateescape")
    said = (urlsafe_b64encode if urls else b64encode)(before + value + after)
    hidden = Mask([text]).hidden(said)
    assert len(hidden) == len(said)
    first, last = -(-len(before) * 8 // 6), (len(before) + len(value)) * 8 // 6
    assert last - first < 8 or set(hidden[first:last]) == {ord("*")}
    assert Mask([text]).hidden(b64encode(value)) == b"*" * len(b64encode(value))


@given(st.text(min_size=8, max_size=30))
def test_in_a_url_a_value_is_hidden(value: str) -> None:
    for form in (quote(value), quote(value, safe=""), quote_plus(value)):
        if len(form) >= 8:
            url = f"https://u:{form}@host".encode()
            assert Mask([value]).hidden(url) == b"https://u:" + b"*" * len(form) + b"@host"
