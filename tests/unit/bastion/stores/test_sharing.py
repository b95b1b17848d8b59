"""A folder that several accounts share: its modes, who put a file there, and that no link leads out of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bastion.model.errors import BucketError, ObjectNotFound, TooLarge
from bastion.stores import shared_folder
from bastion.stores.local import LocalBucket

ROOT, ADA, BOB, EVE = 0, 1001, 1002, 1003
MINE = os.geteuid()


def a_stat(uid: int, mode: int = 0o755) -> Any:
    return SimpleNamespace(st_uid=uid, st_mode=stat.S_IFDIR | mode)


@pytest.mark.parametrize(
    ("file", "folder", "mode", "whose"),
    [
        (ADA, ADA, 0o755, ADA),
        (ADA, ROOT, 0o755, ADA),
        (ROOT, ADA, 0o755, ADA),  # root's, or what ada linked there of root's: in both cases it speaks for ada
        (ROOT, ADA, 0o777, shared_folder.NOBODY),  # anybody may have linked it there
        (BOB, ADA, 0o755, shared_folder.NOBODY),
        (ROOT, ROOT, 0o755, ROOT),
    ],
)
def test_who_put_a_file_there(file: int, folder: int, mode: int, whose: int) -> None:
    assert shared_folder.owner(a_stat(file), a_stat(folder, mode), ROOT) == whose


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("demo", 0o755),
        ("demo/inbox", 0o1777),
        ("demo/inbox/ada", 0o755),
        ("demo/bundles", 0o1777),
        ("demo/watch", 0o1777),
        ("demo/watch/job", 0o777),
        ("demo/journal", 0o755),
        ("demo/logs/job/0", 0o755),
        ("demo/attempts", 0o700),
        ("demo/claims/job", 0o700),
    ],
)
def test_the_mode_of_a_folder(path: str, mode: int) -> None:
    assert shared_folder.folder_mode(path.encode().split(b"/")) == mode


@pytest.fixture
def shared(tmp_path: Path) -> LocalBucket:
    """A bucket that is shared, made by an account that lets nobody in by itself."""
    before = os.umask(0o077)
    try:
        for folder in shared_folder.wanted(str(tmp_path), "demo", None, {"ada": MINE}, MINE):
            folder.make()
        return LocalBucket(f"file://{tmp_path}")
    finally:
        os.umask(before)


def test_no_umask_decides_who_reads(shared: LocalBucket, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        for key in ("status.json", "logs/job/0/0/0/00000000.log", "bundles/abc", "attempts/j/0/0/order.json"):
            assert shared.create(f"demo/{key}", b"x")
    finally:
        os.umask(before)
    modes = {path.relative_to(tmp_path / "demo").as_posix(): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")
             if path.is_file() and "demo" in path.parts}  # fmt: skip
    assert modes["status.json"] == modes["logs/job/0/0/0/00000000.log"] == 0o644
    assert modes["bundles/abc"] == modes["attempts/j/0/0/order.json"] == 0o600
    assert (tmp_path / "demo" / "logs" / "job" / "0").stat().st_mode & 0o777 == 0o755


def test_the_key_of_machines_is_the_bastions_alone(shared: LocalBucket, tmp_path: Path) -> None:
    assert shared.create("demo/seal.key", b"x")
    key = tmp_path / "demo" / "seal.key"
    assert key.stat().st_mode & 0o777 == 0o600
    shared_folder.mend(str(tmp_path), "demo")
    assert key.stat().st_mode & 0o777 == 0o600


def test_each_account_marks_the_folder_for_itself(
    shared: LocalBucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is the owner's alone, a second account neither reads nor needs: it knows by a marker of its own where it writes."""
    assert shared.create("demo/status.json", b"x")
    (tmp_path / "%private").rename(tmp_path / "%away")  # as good as closed to the second account
    monkeypatch.setattr(os, "geteuid", lambda: MINE + 1)
    second = LocalBucket(shared.url)
    assert second.create("demo/inbox/bob/x.json", b"x")
    own = tmp_path / "users%private" / str(MINE + 1)
    assert sorted(path.name for path in own.iterdir()) == ["lock", "store"]
    assert own.stat().st_mode & 0o777 == 0o700
    (own / "other").write_text("another folder's")
    (own / "other").rename(own / "store")
    with pytest.raises(BucketError, match="another folder is in the place"):
        second.create("demo/inbox/bob/y.json", b"x")


def test_whose_an_object_is_that_is_too_large_to_be_read(shared: LocalBucket) -> None:
    assert shared.create("demo/inbox/ada/x.json", b"x" * 100)
    with pytest.raises(TooLarge) as told:
        shared.read("demo/inbox/ada/x.json", 99)
    assert told.value.owner == MINE


def test_what_empties_stays_where_others_write(shared: LocalBucket, tmp_path: Path) -> None:
    keys = ["demo/inbox/ada/x.json", "demo/journal/1", "demo/logs/job/0/x"]
    for key in keys:
        assert shared.create(key, b"x")
    shared.delete(keys)
    assert [name for name in ("inbox/ada", "journal", "logs/job") if (tmp_path / "demo" / name).is_dir()] == [
        "inbox/ada",
        "journal",
    ]


def test_no_link_leads_a_delete_or_a_write_out_of_the_bucket(shared: LocalBucket, tmp_path: Path) -> None:
    """A user's folder becomes a link after it was listed: what lies there stays."""
    key, elsewhere = "demo/inbox/ada/shadow", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "shadow").write_text("precious")
    assert shared.create(key, b"x")
    inbox = tmp_path / "demo" / "inbox"
    (inbox / "ada").rename(inbox / "away")
    (inbox / "ada").symlink_to(elsewhere)
    shared.delete([key])
    with pytest.raises(ObjectNotFound):
        shared.read(key)
    with pytest.raises(BucketError):
        shared.create("demo/inbox/ada/new", b"x")
    assert {path.name: path.read_text() for path in elsewhere.iterdir()} == {"shadow": "precious"}
    assert [stat.key for stat in shared.list("demo/inbox/ada")] == []


def test_a_folder_is_mended_and_no_link_is(tmp_path: Path) -> None:
    wanted = shared_folder.FolderMode(path=os.fsencode(tmp_path / "inbox"), mode=0o1777, uid=MINE)
    assert wanted.fault().endswith("inbox is missing")
    wanted.make()
    assert wanted.fault() == ""
    (tmp_path / "inbox").chmod(0o700)
    assert wanted.fault().endswith("inbox has mode 0700 instead of 1777")
    wanted.make()
    assert wanted.fault() == ""
    (tmp_path / "inbox").rmdir()
    (tmp_path / "inbox").symlink_to(tmp_path)
    assert wanted.fault().endswith("inbox is not a folder")
    with pytest.raises(OSError, match="inbox"):
        wanted.make()


def test_what_lay_there_before_is_mended(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        LocalBucket(f"file://{tmp_path}").create("demo/journal/1", b"x")
    finally:
        os.umask(before)
    shared_folder.mend(str(tmp_path), "demo")
    assert (tmp_path / "demo" / "journal").stat().st_mode & 0o777 == 0o755
    assert (tmp_path / "demo" / "journal" / "1").stat().st_mode & 0o777 == 0o644


def test_a_closed_folder_above_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert shared_folder.closed_above(str(tmp_path / "bucket"))
    assert shared_folder.closed_above("/var/lib/bastion/bucket") == ""
