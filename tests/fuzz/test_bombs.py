"""What is far too large, too deep or too many is refused at little cost."""

from __future__ import annotations

import io
import json
import tarfile
import tracemalloc

import pytest
import zstandard

from bastion.model.errors import BastionError
from bastion.quota.quota import QuotaError
from tests.fuzz import kinds, samples
from tests.fuzz.kinds import KINDS

HUGE = 50_000_000
BY_NAME = {kind.name: kind for kind in KINDS}
BOUNDED = ("request", "job spec", "quota file", "config file", "worker's facts", "claim", "spec file in JSON")
"""Readers that know how large the thing may be. Others read what only the bastion writes, or line by line."""


@pytest.mark.parametrize("byte", [b" ", b"[", b"9", b"\0"])
@pytest.mark.parametrize("name", BOUNDED)
def test_50_mb_are_refused_by_their_size(name: str, byte: bytes) -> None:
    data = byte * HUGE
    tracemalloc.start()
    with pytest.raises((BastionError, QuotaError)):
        BY_NAME[name].parse(data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < HUGE / 2, "it was looked at, and not only measured"


DEEP = {
    "json": (b"[" * 90_000, b'{"a":' * 30_000, b'{"kind":"submit","spec":' + b"[" * 90_000),
    "toml": (b"a = " + b"[" * 30_000, b"[" + b"a." * 20_000 + b"a]\n", b"a" + b".a" * 20_000 + b" = 1\n"),
    "text": (b"(" * 90_000, b"/" * 90_000, b"," * 90_000),
}


@pytest.mark.parametrize("name", [kind.name for kind in KINDS if kind.bad and kind.form in DEEP])
def test_what_is_nested_without_end_is_refused(name: str) -> None:
    kind = BY_NAME[name]
    for data in DEEP[kind.form]:
        with pytest.raises((BastionError, QuotaError)):
            kind.parse(data)


def test_many_unknown_words_cost_no_more_than_few() -> None:
    """Each could be compared with all known ones; and the complaint that is kept is short."""
    spec = json.loads(samples.SPECS[0]) | {f"field{number}": 1 for number in range(10_000)}
    with pytest.raises(BastionError, match="'field0' is not a field"):
        kinds.spec(json.dumps(spec).encode())
    quota = samples.QUOTAS[0] + b"".join(b"[table%d]\n" % number for number in range(20_000))
    with pytest.raises(BastionError, match="table0"):
        BY_NAME["quota file"].parse(quota)


def test_a_small_archive_does_not_become_a_large_folder() -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("zeros")
        member.size = HUGE
        archive.addfile(member, io.BytesIO(bytes(HUGE)))
    bomb = zstandard.ZstdCompressor().compress(packed.getvalue())
    assert len(bomb) < 10_000
    with pytest.raises(BastionError, match="more than 1048576 bytes"):
        kinds.archive(bomb)


def test_a_line_without_an_end_is_cut() -> None:
    tracemalloc.start()
    kinds.log(b"x" * 8_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64_000_000
