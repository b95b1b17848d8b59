"""A bucket of anything that fsspec knows keeps the promises, if the file system keeps its own; and the others are found out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from uuid import uuid4

import pytest

from bastion.model.errors import AccessDenied, BucketError, UsageError
from bastion.model.interfaces import Bucket
from bastion.stores import fsspec
from bastion.stores.conformance.suite import LEADERSHIP, QUICK, UNSAFE, prove
from bastion.stores.fsspec import FsspecBucket
from tests.contract.bucket_contract import BucketContract
from tests.support.flat import STORES, Flat, Objects, Refused, registered


@pytest.fixture(autouse=True)
def stores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for scheme in ("flat", "looking", "overwriting"):
        monkeypatch.setitem(fsspec._SWAPS, scheme, lambda version: {"if_match": version})
    with registered():
        yield
    STORES.clear()


class TestFsspecBucket(BucketContract):
    rewrites = 50

    @pytest.fixture
    def opened(self) -> Callable[[], Bucket]:
        return partial(FsspecBucket, f"flat://{uuid4()}/some/pre fix/")


def problems(bucket: Bucket) -> dict[str, str]:
    return {found.name: found.problem for found in prove(lambda: bucket, LEADERSHIP, QUICK) if found.problem}


def test_a_store_that_keeps_its_promises_has_no_problems_and_nothing_is_left() -> None:
    assert problems(FsspecBucket("flat://good/x")) == {}
    assert STORES["good"][1] == {}


def test_a_store_that_overwrites_is_found_out() -> None:
    found = problems(FsspecBucket("overwriting://bad/x"))
    assert "create refuses a taken key" in found
    assert STORES["bad"][1] == {}


def test_a_store_that_looks_and_then_writes_is_found_out_by_racing() -> None:
    """It refuses a second create as it should: only a race shows what it is."""
    found = problems(FsspecBucket("looking://bad/x"))
    assert "create refuses a taken key" not in found
    assert "winners of 16 creators" in found["of racing creators one wins"]


def test_a_store_without_swaps_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(fsspec._SWAPS, "flat")
    found = problems(FsspecBucket("flat://bad/x"))
    assert "cannot replace one given version" in found["replace wants the version that is there"]


def test_the_advice_is_to_keep_no_bastion_there() -> None:
    advice = {
        found.advice for found in prove(lambda: FsspecBucket("overwriting://b/x"), LEADERSHIP, QUICK) if found.problem
    }
    assert UNSAFE in advice


def test_what_fails_for_a_moment_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, failures = FsspecBucket("flat://good/x"), [Refused(503), Refused(429), ConnectionError("reset")]
    honest = Flat.cat_file

    def sometimes(self: Flat, path: str, start: int | None = None, end: int | None = None) -> bytes:
        if failures:
            raise failures.pop()
        return honest(self, path)

    bucket.write("a", b"1")
    monkeypatch.setattr(Flat, "cat_file", sometimes)
    assert bucket.read("a").data == b"1"
    assert failures == []


@pytest.mark.parametrize(
    ("status", "kind"), [(403, AccessDenied), (401, AccessDenied), (400, BucketError), (503, BucketError)]
)
def test_what_fails_for_good_is_told(monkeypatch: pytest.MonkeyPatch, status: int, kind: type[BucketError]) -> None:
    def refuse(self: Flat, objects: Objects, path: str, mode: str, how: object) -> None:
        raise Refused(status)

    monkeypatch.setattr(Flat, "admit", refuse)
    with pytest.raises(kind, match=r"flat://good/x: cannot write 'a': the store said no") as told:
        FsspecBucket("flat://good/x", limit_s=0.5).write("a", b"1")
    assert type(told.value) is kind


@pytest.mark.parametrize("url", ["flat://", "flat:///", "flat://b/" + "p" * 120])
def test_a_url_without_a_place_or_with_a_long_one_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"name a place in it, of at most 120 bytes"):
        FsspecBucket(url)


def test_a_write_that_was_overwritten_at_once_has_a_version_that_no_object_has(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket, other = FsspecBucket("flat://good/x"), FsspecBucket("flat://good/x")
    honest = Flat.pipe_file

    def overtaken(self: Flat, path: str, value: bytes, mode: str = "overwrite", **how: object) -> None:
        honest(self, path, value, mode, **how)
        monkeypatch.setattr(Flat, "pipe_file", honest)
        other.write("a", b"theirs")

    monkeypatch.setattr(Flat, "pipe_file", overtaken)
    version = bucket.write("a", b"ours")
    assert bucket.replace("a", b"ours again", version) is None
    assert bucket.read("a").data == b"theirs"
