"""A folder that is not the one that we began on is a store that is down; it goes on when the true one is back."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bastion.model.errors import BucketError, BucketNotFound, ObjectNotFound
from bastion.stores.local import LocalBucket

ASKS: dict[str, Callable[[LocalBucket], object]] = {
    "read": lambda bucket: bucket.read("j/1"),
    "read what is not there": lambda bucket: bucket.read("j/9"),
    "create": lambda bucket: bucket.create("j/2", b"2"),
    "create what is there": lambda bucket: bucket.create("j/1", b"2"),
    "replace": lambda bucket: bucket.replace("j/1", b"2", "1-1"),
    "write": lambda bucket: bucket.write("j/1", b"2"),
    "delete": lambda bucket: bucket.delete(["j/1"]),
    "list": lambda bucket: list(bucket.list("")),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bucket"


@pytest.fixture
def bucket(folder: Path) -> LocalBucket:
    made = LocalBucket(f"file://{folder}", create=True)
    made.create("j/1", b"1")
    return made


@pytest.fixture
def away(folder: Path, bucket: LocalBucket) -> Path:
    """Where the true folder is, while an empty one lies in its place."""
    true = folder.rename(folder.with_name("true"))
    folder.mkdir()
    return true


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_an_empty_mount_point_in_its_place_is_an_outage_and_stays_empty(
    folder: Path, bucket: LocalBucket, away: Path, ask: Callable[[LocalBucket], object]
) -> None:
    with pytest.raises(BucketError, match="another folder is in the place of the bucket's"):
        ask(bucket)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
def test_so_is_another_bucket_in_its_place(
    folder: Path, bucket: LocalBucket, away: Path, ask: Callable[[LocalBucket], object]
) -> None:
    other = LocalBucket(f"file://{folder}")
    other.create("j/1", b"other")
    with pytest.raises(BucketError, match="another folder is in the place"):
        ask(bucket)
    assert [stat.key for stat in other.list("")] == ["j/1"]
    assert other.read("j/1").data == b"other"


def test_it_goes_on_when_the_true_one_is_back(folder: Path, bucket: LocalBucket, away: Path) -> None:
    folder.rmdir()
    away.rename(folder)
    assert bucket.create("j/2", b"2")
    assert [stat.key for stat in bucket.list("")] == ["j/1", "j/2"]


def test_it_may_come_back_under_another_device_and_inode(folder: Path, bucket: LocalBucket, away: Path) -> None:
    folder.rmdir()
    shutil.copytree(away, folder)
    assert (folder.stat().st_ino, folder.stat().st_dev) != (away.stat().st_ino, away.stat().st_dev)
    assert bucket.create("j/2", b"2")
    assert bucket.read("j/1").data == b"1"


def test_a_folder_that_is_not_there_at_all_is_none(folder: Path, bucket: LocalBucket, away: Path) -> None:
    folder.rmdir()
    with pytest.raises(BucketNotFound, match="there is no such folder"):
        bucket.read("j/1")


def test_a_folder_of_an_older_bastion_has_no_marker_and_gets_one_with_the_first_write(
    folder: Path, bucket: LocalBucket
) -> None:
    (folder / "%private/store").unlink()
    old, reader = LocalBucket(f"file://{folder}"), LocalBucket(f"file://{folder}")
    assert old.read("j/1").data == b"1"
    old.create("j/2", b"2")
    assert (folder / "%private/store").read_bytes()
    assert reader.read("j/2").data == b"2"
    true = folder.rename(folder.with_name("true"))
    folder.mkdir()
    for bucket in (old, reader):
        with pytest.raises(BucketError, match="another folder"):
            bucket.read("j/1")
    folder.rmdir()
    true.rename(folder)
    assert reader.read("j/2").data == b"2"


def test_a_listing_of_a_folder_that_drops_meanwhile_is_no_listing(folder: Path, bucket: LocalBucket) -> None:
    bucket.create("k/1", b"")
    listing = bucket.list("")
    assert next(listing).key == "j/1"
    folder.rename(folder.with_name("true"))
    folder.mkdir()
    with pytest.raises(BucketError, match="another folder"):
        list(listing)


def test_objects_are_dated_by_the_file_systems_clock(bucket: LocalBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    before = bucket.list("j/").__next__().modified
    monkeypatch.setattr("time.time_ns", lambda: 2**62)
    monkeypatch.setattr("time.time", lambda: 2**33)
    bucket.write("j/2", b"")
    bucket.delete(["j/1"])
    bucket.write("j/3", b"")
    dated = [stat.modified for stat in bucket.list("j/")]
    assert before < dated[0] < dated[1]
    assert (dated[1] - before).total_seconds() < 3600


def test_dates_that_ran_ahead_are_seen_and_healed(folder: Path, bucket: LocalBucket) -> None:
    assert bucket.ahead_s() < 1
    now_us = os.stat(folder / "j/1").st_mtime_ns // 1000
    (folder / "%private/lock").write_bytes(b"%d\n" % (now_us + 3 * 86_400_000_000))
    bucket.write("j/2", b"")
    assert 259_000 < bucket.ahead_s() < 260_000, "no version is given twice, so it goes on from there"
    bucket.ahead_s(heal=True)
    assert bucket.ahead_s() < 60
    version = bucket.write("j/3", b"")
    assert int(version.split("-")[0]) // 1000 < now_us + 3_600_000_000
    with pytest.raises(ObjectNotFound):
        bucket.read("j/4")
