"""A tree becomes the same bytes everywhere, comes back as it was, and is uploaded once."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.bundler.file_selection import FileEntry, FileKind
from bastion.bundler.file_walk import walk
from bastion.bundler.interface import Bundle, Bundler, NoneBundler
from bastion.bundler.tar import TarBundler, pack
from bastion.bundler.unpack import unpack
from bastion.model.errors import BundleError
from tests.depth import examples
from tests.unit.bundler.doors import CountingBucket, TestClock

HOME = Path("/home/ada")

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), min_size=1, max_size=40).filter(
    lambda name: (
        name not in {".", "..", ".git", ".gitignore", ".bastionignore", "__pycache__", "pyvenv.cfg"}
        and len(name.encode()) <= 255
    )
)
LEAVES = st.tuples(st.binary(max_size=3000), st.booleans()) | st.sampled_from(["link", "folder"])
TREES = st.dictionaries(st.lists(NAMES, min_size=1, max_size=4).map("/".join), LEAVES, max_size=12)


@pytest.fixture
def clock() -> TestClock:
    return TestClock()


@pytest.fixture
def bucket(clock: TestClock) -> CountingBucket:
    return CountingBucket(clock)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    (folder / "lib").mkdir(parents=True)
    (folder / "train.py").write_text("print('hello')\n")
    (folder / "lib/data.bin").write_bytes(bytes(range(256)) * 100)
    (folder / "latest").symlink_to("lib/data.bin")
    return folder


def build(root: Path, tree: dict[str, object]) -> None:
    """Write what can be of a random tree: a name cannot be both a file and a folder."""
    for name, leaf in tree.items():
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if leaf == "folder":
                path.mkdir()
            elif leaf == "link":
                path.symlink_to("anything/at all")
            elif isinstance(leaf, tuple):
                path.write_bytes(leaf[0])
                path.chmod(0o700 if leaf[1] else 0o600)
        except OSError:
            continue


def seen(root: Path) -> dict[str, object]:
    """All that matters of a tree."""
    return dict(_seen(root))


def _seen(root: Path) -> Iterator[tuple[str, object]]:
    for folder, folders, files in os.walk(root):
        for path in (Path(folder, name) for name in folders + files):
            content: object = "folder"
            if path.is_symlink():
                content = os.readlink(path)
            elif path.is_file():
                content = path.read_bytes(), bool(path.stat().st_mode & 0o100)
            yield str(path.relative_to(root)), content


def packed(root: Path) -> tuple[bytes, str]:
    out = BytesIO()
    digest = pack(root, walk(root.resolve(), leave_out=(), limit_files=1000), out)
    return out.getvalue(), digest


@settings(max_examples=examples(100), deadline=None)
@given(TREES)
def test_a_tree_comes_back_as_it_was(tree: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "source")
        root.mkdir()
        build(root, tree)
        data, digest = packed(root)
        unpack(data, digest, Path(folder, "target"))
        assert seen(Path(folder, "target")) == seen(root)


@settings(max_examples=examples(25), deadline=None)
@given(TREES)
def test_equal_trees_are_equal_bytes_whatever_their_times_masks_and_order(tree: dict[str, object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "one"), Path(folder, "two")
        one.mkdir()
        build(one, tree)
        mask = os.umask(0o077)
        try:
            two.mkdir()
            for name in sorted(seen(one), reverse=True):
                _copy(one / name, two / name)
        finally:
            os.umask(mask)
        assert packed(one) == packed(two)


def _copy(one: Path, two: Path) -> None:
    two.parent.mkdir(parents=True, exist_ok=True)
    if one.is_symlink():
        two.symlink_to(os.readlink(one))
    elif one.is_dir():
        two.mkdir(exist_ok=True)
    else:
        shutil.copyfile(one, two)
        two.chmod(0o711 if one.stat().st_mode & 0o100 else 0o604)
        os.utime(two, (12345, 67890))


def test_members_are_packed_in_the_order_of_their_paths(source: Path) -> None:
    entries = walk(source, leave_out=(), limit_files=10)
    assert [entry.path for entry in entries] == ["latest", "lib/data.bin", "train.py"]
    with zstandard.open(BytesIO(packed(source)[0])) as tar, tarfile.open(fileobj=tar, mode="r|") as archive:
        assert archive.getnames() == ["latest", "lib/data.bin", "train.py"]


def test_a_bundle_is_named_by_its_bytes(source: Path, bucket: CountingBucket, clock: TestClock) -> None:
    bundler: Bundler = TarBundler(home=HOME, clock=clock)
    bundle = bundler.bundle(source, bucket)
    data = bucket.read(bundle.key).data
    assert bundle == Bundle("tar", f"bundles/{bundle.digest}.tar.zst", bundle.digest, len(data), 3)
    unpack(data, bundle.digest, source.parent / "target")
    assert seen(source.parent / "target") == seen(source)


def test_an_unchanged_tree_costs_one_listing_and_no_upload(
    source: Path, bucket: CountingBucket, clock: TestClock
) -> None:
    bundler = TarBundler(home=HOME, clock=clock)
    first = bundler.bundle(source, bucket)
    assert bucket.asked == {"list": 1, "create": 1}
    os.utime(source / "train.py", (1, 1))
    assert bundler.bundle(source, bucket) == first
    assert bucket.asked == {"list": 2, "create": 1}


def test_a_changed_tree_is_a_new_object(source: Path, bucket: CountingBucket, clock: TestClock) -> None:
    bundler = TarBundler(home=HOME, clock=clock)
    bundler.bundle(source, bucket)
    (source / "train.py").chmod(0o755)
    bundler.bundle(source, bucket)
    assert len(bucket.objects) == 2


@pytest.mark.parametrize(("retention_s", "age_s", "writes"), [(None, 10**8, 0), (100, 50, 0), (100, 51, 1)])
def test_a_bundle_older_than_half_its_retention_is_uploaded_again(
    source: Path, bucket: CountingBucket, clock: TestClock, retention_s: float | None, age_s: float, writes: int
) -> None:
    bundler = TarBundler(home=HOME, clock=clock, retention_s=retention_s)
    bundle = bundler.bundle(source, bucket)
    clock.now += timedelta(seconds=age_s)
    assert bundler.bundle(source, bucket) == bundle
    assert bucket.asked["write"] == writes


def test_the_bucket_inside_the_tree_is_left_out_also_through_a_link(
    source: Path, bucket: CountingBucket, clock: TestClock
) -> None:
    before = TarBundler(home=HOME, clock=clock).bundle(source, bucket)
    (source / "bucket").mkdir()
    (source / "bucket/object").touch()
    (source.parent / "elsewhere").symlink_to(source / "bucket")
    bundler = TarBundler(home=HOME, clock=clock, leave_out=[source.parent / "elsewhere"])
    assert bundler.bundle(source, bucket) == before


def test_the_home_folder_is_refused_also_through_a_link(source: Path, bucket: CountingBucket, clock: TestClock) -> None:
    (source.parent / "elsewhere").symlink_to(source)
    with pytest.raises(BundleError, match="the home folder; start from the folder of your code"):
        TarBundler(home=source, clock=clock).bundle(source.parent / "elsewhere", bucket)
    with pytest.raises(BundleError, match="source is '/', above the home folder"):
        TarBundler(home=source, clock=clock).bundle(Path("/"), bucket)
    assert not bucket.asked


def test_too_large_a_tree_is_not_uploaded(source: Path, bucket: CountingBucket, clock: TestClock) -> None:
    with pytest.raises(BundleError, match=r"the largest: lib/data.bin \(0.0 MiB\), train.py"):
        TarBundler(home=HOME, clock=clock, limit_bytes=100).bundle(source, bucket)
    with pytest.raises(BundleError, match="more than 2 files"):
        TarBundler(home=HOME, clock=clock, limit_files=2).bundle(source, bucket)
    assert not bucket.asked


@pytest.mark.parametrize("name", ["absent", "code/train.py"])
def test_a_source_that_is_no_folder_is_an_error(
    source: Path, bucket: CountingBucket, clock: TestClock, name: str
) -> None:
    with pytest.raises(BundleError, match="cannot pack"):
        TarBundler(home=HOME, clock=clock).bundle(source.parent / name, bucket)


@pytest.mark.parametrize("listed", [4, 6])
def test_a_file_that_changes_while_it_is_packed_is_named(tmp_path: Path, listed: int) -> None:
    (tmp_path / "grows").write_bytes(b"12345")
    with pytest.raises(BundleError, match="'grows' changed while it was packed"):
        pack(tmp_path, [FileEntry("grows", FileKind.FILE, size=listed)], BytesIO())


def test_a_file_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "file").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="file"):
        pack(tmp_path, [FileEntry("file", FileKind.FILE, size=1)], BytesIO())


def test_a_disk_that_cannot_be_read_is_not_taken_for_a_changed_file() -> None:
    with pytest.raises(OSError, match="Input/output error"):  # what reading this one gives on Linux
        pack(Path("/proc/self"), [FileEntry("mem", FileKind.FILE, size=1)], BytesIO())


def test_no_bundle_asks_nobody(bucket: CountingBucket) -> None:
    bundler: Bundler = NoneBundler()
    assert bundler.bundle(Path("/absent"), bucket) == Bundle("none", "", "", 0, 0)
    assert not bucket.asked
