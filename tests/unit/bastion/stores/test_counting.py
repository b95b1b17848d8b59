"""The counter of requests counts as a store would bill."""

from __future__ import annotations

from uuid import uuid4

import pytest

from bastion.stores.counting import CountingBucket
from bastion.stores.memory import MemoryBucket


@pytest.mark.parametrize(("objects", "pages"), [(0, 1), (1, 1), (1000, 1), (1001, 2), (2500, 3)])
def test_a_listing_counts_each_page_of_1000(objects: int, pages: int) -> None:
    bucket = CountingBucket(MemoryBucket(f"memory://{uuid4()}"))
    for number in range(objects):
        bucket.write(f"a/{number:04}", b"")
    assert len(list(bucket.list("a/"))) == objects
    assert bucket.counts == {"write": objects, "list": pages} if objects else {"list": 1}


def test_a_page_counts_when_it_is_begun() -> None:
    bucket = CountingBucket(MemoryBucket(f"memory://{uuid4()}"))
    bucket.write("a", b"")
    stats = bucket.list("")
    assert bucket.counts["list"] == 0
    next(stats)
    assert bucket.counts["list"] == 1


def test_every_call_counts_and_reaches_the_bucket() -> None:
    bucket = CountingBucket(MemoryBucket(f"memory://{uuid4()}"))
    version = bucket.create("a", b"1")
    assert version
    assert bucket.replace("a", b"2", version)
    assert bucket.read("a").data == b"2"
    bucket.write("b", b"")
    bucket.delete(["a", "b", "c"])
    assert list(bucket.list("")) == []
    assert bucket.counts == {"create": 1, "replace": 1, "read": 1, "write": 1, "delete": 3, "list": 1}
