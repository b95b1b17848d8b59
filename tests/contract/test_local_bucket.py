"""The bucket in a folder keeps the promises of every bucket, also among processes, and those of a good folder."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from bastion.model.errors import AccessDenied, BucketNotFound, ObjectNotFound, UsageError
from bastion.model.interfaces import Bucket
from bastion.stores.conformance.races import race
from bastion.stores.local import LocalBucket
from tests.contract.bucket_contract import BucketContract

_FILL = """
import sys
from pathlib import Path
from bastion.stores.local import LocalBucket
from bastion.model.errors import StoreFull
bucket = LocalBucket("file://" + sys.argv[1])
bucket.write("old", b"old")
for put in (bucket.create, bucket.write):
    try:
        put("new", b"x" * (4 << 20))
    except StoreFull as error:
        print(error)
print(bucket.read("old").data, [stat.key for stat in bucket.list("")])
print(sorted(path.name for path in Path(sys.argv[1], "%private").iterdir()))
bucket.delete(["old"])
print(bucket.create("new", b"small") is not None)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "bucket"


@pytest.fixture
def opened(folder: Path) -> Callable[[], Bucket]:
    return partial(LocalBucket, f"file://{folder}", create=True)


@pytest.fixture
def bucket(opened: Callable[[], Bucket]) -> Bucket:
    return opened()


class TestLocalBucket(BucketContract):
    rewrites = 1000

    @pytest.fixture
    def opened(self, folder: Path) -> Callable[[], Bucket]:
        return partial(LocalBucket, f"file://{folder}", create=True)


def test_opening_a_bucket_sweeps_dead_writers_files_only(folder: Path, bucket: Bucket) -> None:
    bucket.write("a", b"")
    private = folder / "%private"
    dead, old, young, living = (f"{number:032x}" for number in range(4))
    for name in (dead, old, young, living, "odd"):
        (private / name).mkdir()
    (private / dead / "new").write_bytes(b"dead")
    os.utime(private / old, (0, 0))
    with (private / living / "new").open("wb") as live:
        fcntl.flock(live, fcntl.LOCK_EX)
        LocalBucket(bucket.url)
        assert sorted(path.name for path in private.iterdir()) == [young, living, "lock", "odd", "store"]


def test_opening_a_bucket_disturbs_no_live_writer(bucket: Bucket) -> None:
    over = Event()

    def write() -> None:
        try:
            for turn in range(20):
                bucket.write("large", b"%d" % turn * (2 << 20))
        finally:
            over.set()

    def reopen() -> None:
        while not over.is_set():
            LocalBucket(bucket.url)

    race([write, reopen, reopen])


def test_versions_never_come_back_though_the_clock_does(folder: Path, bucket: Bucket) -> None:
    """The last stamp (microseconds; here of the year 2255) stands in the lock file, and each new one is larger."""
    last = 9 * 10**15
    bucket.write("a", b"")
    (folder / "%private/lock").write_bytes(b"%d\n" % last)
    for turn in range(1, 100):
        bucket.write("a", b"same")
        assert (folder / "a").stat().st_mtime_ns == (last + turn) * 1000


@pytest.mark.parametrize("damage", [b"garbage", b"", b"\0" * 17, b"9" * 17, b"9" * 5000])
def test_a_damaged_lock_file_does_no_harm(folder: Path, bucket: Bucket, damage: bytes) -> None:
    bucket.write("a", b"")
    (folder / "%private/lock").write_bytes(damage)
    bucket.write("a", b"")
    first = (folder / "%private/lock").read_bytes().split(b"\n")[0]
    assert (folder / "a").stat().st_mtime_ns == int(first) * 1000
    assert bucket.write("a", b"") != bucket.write("a", b"")


def test_plain_keys_are_ordinary_files_in_ordinary_folders(folder: Path, bucket: Bucket) -> None:
    bucket.create("journal/000000000001.json", b"{}")
    bucket.write("claims/job-1/0/0/0", b"claim")
    assert (folder / "journal/000000000001.json").read_bytes() == b"{}"
    assert (folder / "claims/job-1/0/0/0").read_bytes() == b"claim"


def test_files_that_a_person_puts_there_are_objects(folder: Path, bucket: Bucket) -> None:
    (folder / "by").mkdir()
    (folder / "by/hand.toml").write_bytes(b"x = 1")
    version = bucket.read("by/hand.toml").version
    assert [(stat.key, stat.version) for stat in bucket.list("by/")] == [("by/hand.toml", version)]
    assert bucket.replace("by/hand.toml", b"x = 2", version)
    assert (folder / "by/hand.toml").read_bytes() == b"x = 2"


def test_files_honour_the_umask(folder: Path, bucket: Bucket) -> None:
    before = os.umask(0o027)
    try:
        bucket.write("a", b"")
    finally:
        os.umask(before)
    assert (folder / "a").stat().st_mode & 0o777 == 0o640


def test_the_folders_of_a_new_object_survive_a_power_failure(
    folder: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object is durable only if each folder is, in which its name or that of a new folder was written."""
    synced: list[str] = []
    real = os.fsync

    def noted(file: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{file}"))
        real(file)

    monkeypatch.setattr(os, "fsync", noted)
    bucket.create("a/b/new", b"data")
    assert {str(folder), str(folder / "a"), str(folder / "a/b")} <= set(synced)
    assert synced[-1] == str(folder / "a/b")


def test_emptied_folders_vanish_but_never_the_bucket(folder: Path, bucket: Bucket) -> None:
    bucket.write("a/b/c/d", b"")
    bucket.write("a/x", b"")
    bucket.delete(["a/b/c/d"])
    assert sorted(path.name for path in (folder / "a").iterdir()) == ["x"]
    bucket.delete(["a/x"])
    assert [path.name for path in folder.iterdir()] == ["%private"]


def test_what_no_key_can_name_is_neither_listed_nor_read(folder: Path, bucket: Bucket) -> None:
    bucket.write("d/good", b"")
    (folder / "d/link").symlink_to("/etc/passwd")
    (folder / "loop").symlink_to(folder)
    os.mkfifo(folder / "d/pipe")
    Path(os.fsdecode(os.fsencode(folder) + b"/d/\xff\xfe")).write_bytes(b"")
    for name in ("new\nline", "x%part", "%object", "p" * 241):
        (folder / "d" / name).write_bytes(b"")
    (folder / "d/dir%object").mkdir()
    assert [stat.key for stat in bucket.list("")] == ["d/good"]
    for key in ("d/link", "d/pipe"):
        with pytest.raises(ObjectNotFound):
            bucket.read(key)


def test_a_missing_folder_is_no_bucket(folder: Path, bucket: Bucket) -> None:
    with pytest.raises(BucketNotFound, match="no such folder"):
        LocalBucket(f"file://{folder}/deeper")
    shutil.rmtree(folder)
    asks: list[Callable[[], object]] = [
        lambda: bucket.read("a"),
        lambda: bucket.create("a", b""),
        lambda: bucket.write("a", b""),
        lambda: bucket.replace("a", b"", "1"),
        lambda: bucket.delete(["a"]),
        lambda: list(bucket.list("a/")),
    ]
    for ask in asks:
        with pytest.raises(BucketNotFound, match="no such folder"):
            ask()
    assert not folder.exists()


def test_a_file_is_no_bucket(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    for create in (False, True):
        with pytest.raises(BucketNotFound):
            LocalBucket(f"file://{tmp_path}/file", create=create)


@pytest.mark.parametrize("url", ["file://relative", "file://", "/plain", "gs://bucket"])
def test_a_url_without_an_absolute_path_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="file:///folder"):
        LocalBucket(url)


def test_missing_rights_are_denied_and_reading_goes_on() -> None:
    with _public_folder() as folder:
        bucket = LocalBucket(f"file://{folder}")
        bucket.write("a/b", b"1")
        with _without_privileges(folder):
            reader = LocalBucket(f"file://{folder}")
            assert reader.read("a/b").data == b"1"
            assert [stat.key for stat in reader.list("")] == ["a/b"]
            asks: list[Callable[[], object]] = [
                lambda: reader.create("new", b""),
                lambda: reader.write("a/b", b""),
                lambda: reader.replace("a/b", b"", "1"),
                lambda: reader.delete(["a/b"]),
                lambda: LocalBucket(f"file://{folder}/deeper", create=True),
            ]
            for ask in asks:
                with pytest.raises(AccessDenied, match="permission denied; ask the folder's owner"):
                    ask()
        assert bucket.read("a/b").data == b"1"


def test_a_listing_reads_only_folders_that_can_hold_what_is_asked_for() -> None:
    with _public_folder() as folder:
        bucket = LocalBucket(f"file://{folder}")
        for key in ("a/closed/1", "a/closed/2", "b/1", "b/closed/1", "b/open/1", "c/1"):
            bucket.write(key, b"")
        (folder / "a/closed").chmod(0)
        (folder / "b/closed").chmod(0)
        with _without_privileges(folder):
            reader = LocalBucket(f"file://{folder}")
            assert [stat.key for stat in reader.list("c")] == ["c/1"]
            assert [stat.key for stat in reader.list("b/o")] == ["b/open/1"]
            assert [stat.key for stat in reader.list("", after="b/o")] == ["b/open/1", "c/1"]
            with pytest.raises(AccessDenied):
                list(reader.list(""))
            with pytest.raises(AccessDenied):
                list(reader.list("b/", after="b/closed/0"))
        (folder / "a/closed").chmod(0o755)
        (folder / "b/closed").chmod(0o755)


def test_a_full_disk_is_told_and_harms_nothing(tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=1m tmpfs "$1" && exec "$2" -c "$3" "$1"'
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    argv = [*unshare, "sh", "-c", script, "sh", str(tmp_path), sys.executable, _FILL]
    said = subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()
    assert said == [
        *[f"file://{tmp_path}: 'new': no room is left on the disk; make some and try again"] * 2,
        "b'old' ['old']",
        "['lock', 'store']",
        "True",
    ]


@contextmanager
def _public_folder() -> Iterator[Path]:
    """A folder that everybody may read (the folders that pytest makes, nobody else may enter)."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@contextmanager
def _without_privileges(folder: Path) -> Iterator[None]:
    """Be nobody, if we are root; else take the right to write from the tree that we own."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
        return
    modes = {path: path.stat().st_mode for path in (folder, *folder.rglob("*"))}
    try:
        for path, mode in modes.items():
            path.chmod(mode & 0o555)
        yield
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def test_the_key_by_which_machines_are_known_is_its_owners_alone(folder: Path, bucket: Bucket) -> None:
    for key in ("demo/seal.key", "demo/status.json"):
        bucket.create(key, b"x")
    modes = {name: (folder / "demo" / name).stat().st_mode & 0o077 for name in ("seal.key", "status.json")}
    assert modes == {"seal.key": 0, "status.json": 0o066 & ~_umask()}


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
