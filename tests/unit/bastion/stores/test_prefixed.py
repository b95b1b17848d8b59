"""A part of a bucket behaves as a bucket of its own, and touches nothing beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.model.errors import ObjectNotFound
from bastion.stores.local import LocalBucket
from bastion.stores.opening import PrefixedBucket


@pytest.fixture
def root(tmp_path: Path) -> LocalBucket:
    return LocalBucket(f"file://{tmp_path}")


def test_its_objects_lie_below_the_prefix(root: LocalBucket) -> None:
    part = PrefixedBucket(root, "demo")
    version = part.create("a/b", b"1")
    assert root.read("demo/a/b").data == b"1"
    assert part.read("a/b").version == version
    assert part.url == f"{root.url}/demo"


def test_a_taken_key_is_refused_and_versions_are_compared(root: LocalBucket) -> None:
    part = PrefixedBucket(root, "demo")
    version = part.write("k", b"1")
    assert part.create("k", b"2") is None
    assert part.replace("k", b"2", "another") is None
    assert part.replace("k", b"2", version) is not None
    assert part.read("k").data == b"2"


def test_a_listing_names_its_objects_without_the_prefix(root: LocalBucket) -> None:
    part = PrefixedBucket(root, "demo")
    for key in ("a", "b/1", "b/2", "c"):
        part.write(key, b"")
    root.write("demo2/a", b"")
    root.write("dem", b"")
    assert [stat.key for stat in part.list("")] == ["a", "b/1", "b/2", "c"]
    assert [stat.key for stat in part.list("b/")] == ["b/1", "b/2"]
    assert [stat.key for stat in part.list("", after="b/1")] == ["b/2", "c"]


def test_deleting_leaves_the_neighbours_alone(root: LocalBucket) -> None:
    part = PrefixedBucket(root, "demo")
    part.write("k", b"")
    root.write("k", b"")
    part.delete(iter(["k", "never there"]))
    assert [stat.key for stat in root.list("")] == ["k"]
    with pytest.raises(ObjectNotFound):
        part.read("k")
