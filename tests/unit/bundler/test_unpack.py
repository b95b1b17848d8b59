"""Nothing that a stranger's archive holds gets out of the target, and none is left half unpacked."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from bastion.bundler.unpack import unpack
from bastion.model.errors import BundleError
from tests.depth import examples

KINDS = {
    "file": tarfile.REGTYPE,
    "folder": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "hard": tarfile.LNKTYPE,
    "fifo": tarfile.FIFOTYPE,
    "char": tarfile.CHRTYPE,
    "block": tarfile.BLKTYPE,
    "odd": b"Z",
}


def member(name: str, kind: str = "file", data: bytes = b"", target: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname, info.mode = KINDS[kind], len(data), target, mode
    info.pax_headers = {}
    return info


def tar_of(members: Sequence[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def compressed(tar: bytes) -> tuple[bytes, str]:
    data = zstandard.compress(tar)
    return data, hashlib.sha256(data).hexdigest()


def archive(*members: tarfile.TarInfo) -> tuple[bytes, str]:
    return compressed(tar_of([(info, b"x" * info.size) for info in members]))


def untouched(folder: Path) -> bool:
    return not any(folder.iterdir())


@pytest.mark.parametrize(
    ("members", "fault"),
    [
        ([member("/etc/evil")], "is an absolute path"),
        ([member("../evil")], "'..' part"),
        ([member("a/../../evil")], "'..' part"),
        ([member("./evil")], "'.' or"),
        ([member("link", "link", target="/etc")], "is a link to '/etc', which is an absolute path"),
        ([member("link", "link", target="../x")], "which leaves the folder"),
        ([member("a/link", "link", target="../../x")], "which leaves the folder"),
        ([member("a/b", "link", target="."), member("c", "link", target="a/b/../..")], "has '..' after a name"),
        ([member("/".join(["d"] * 2000))], "has more than 100 parts"),
        ([member("a"), member("hard", "hard", target="a")], "is neither file"),
        ([member("hard", "hard", target="../../etc/passwd")], "is neither file"),
        ([member("pipe", "fifo")], "is neither file"),
        ([member("null", "char")], "is neither file"),
        ([member("disk", "block")], "is neither file"),
        ([member("odd", "odd")], "is neither file"),
        ([member("d", "folder"), member("l", "link", target="d"), member("l/evil")], "lies below a file or link"),
        ([member("d", "link", target="e"), member("d", "folder")], "is there twice"),
        ([member("d/x"), member("d", "link", target="e")], "is there twice"),
        ([member("a"), member("a")], "is there twice"),
        ([member("a", "link", target="b"), member("a")], "is there twice"),
        ([member("a"), member("a/b")], "lies below a file or link"),
    ],
)
def test_a_malicious_member_is_refused(tmp_path: Path, members: list[tarfile.TarInfo], fault: str) -> None:
    data, digest = archive(member("first"), *members)
    with pytest.raises(BundleError) as caught:
        unpack(data, digest, tmp_path / "target")
    assert fault in str(caught.value)
    assert repr(members[-1].name) in str(caught.value)
    assert untouched(tmp_path)


def test_sparse_files_and_negative_sizes_are_refused(tmp_path: Path) -> None:
    sparse = member("sparse")
    sparse.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.map": "0,0", "GNU.sparse.size": "9999"}
    with pytest.raises(BundleError, match="is neither file"):
        unpack(*archive(sparse), tmp_path / "target")
    negative = member("negative", "folder")
    negative.pax_headers = {"size": "-4096"}
    with pytest.raises(BundleError, match=r"negative size|cannot be read"):
        unpack(*archive(negative), tmp_path / "target")
    assert untouched(tmp_path)


def test_bytes_of_another_digest_are_refused_with_both_named(tmp_path: Path) -> None:
    data, digest = archive(member("a"))
    wrong = "0" * 64
    with pytest.raises(BundleError, match=f"bundle {wrong} has bytes of digest {digest}"):
        unpack(data, wrong, tmp_path / "target")
    assert untouched(tmp_path)


def test_the_digest_is_checked_before_anything_is_parsed(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="has bytes of digest"):
        unpack(b"no archive", "0" * 64, tmp_path / "target")


@pytest.mark.parametrize("data", [b"", b"no archive", zstandard.compress(b"no tar" * 1000)])
def test_what_is_no_archive_is_refused(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BundleError, match="cannot be read as an archive"):
        unpack(data, hashlib.sha256(data).hexdigest(), tmp_path / "target")
    assert untouched(tmp_path)


def test_a_bomb_is_refused_before_it_is_written(tmp_path: Path) -> None:
    big = 2**26
    data, digest = archive(member("zeros", data=bytes(big)))
    assert len(data) < big / 1000
    with pytest.raises(BundleError, match="holds more than 1000000 bytes"):
        unpack(data, digest, tmp_path / "target", limit_bytes=10**6)
    assert untouched(tmp_path)


def test_small_files_count_together(tmp_path: Path) -> None:
    data, digest = archive(*[member(str(at), data=bytes(100)) for at in range(11)])
    unpack(data, digest, tmp_path / "fits", limit_bytes=1100)
    with pytest.raises(BundleError, match="more than 1099 bytes"):
        unpack(data, digest, tmp_path / "target", limit_bytes=1099)


def test_a_header_that_is_itself_a_bomb_is_refused(tmp_path: Path) -> None:
    info = member("a")
    info.pax_headers = {"comment": "x" * 2**24}
    with pytest.raises(BundleError, match="header of more than 64 KiB"):
        unpack(*archive(info), tmp_path / "target")
    assert untouched(tmp_path)


@pytest.mark.parametrize("names", [[str(at) for at in range(11)], ["/".join("abcdefghijk")]])
def test_too_many_files_or_folders_are_refused(tmp_path: Path, names: list[str]) -> None:
    data, digest = archive(*map(member, names))
    unpack(data, digest, tmp_path / "fits", limit_files=11)
    with pytest.raises(BundleError, match="more than 10 files and folders"):
        unpack(data, digest, tmp_path / "target", limit_files=10)


def test_only_the_right_to_execute_is_taken_over(tmp_path: Path) -> None:
    unpack(*archive(member("root", mode=0o6755), member("odd", mode=0o002)), tmp_path / "target")
    assert (tmp_path / "target/root").stat().st_mode & 0o7777 == 0o755
    assert (tmp_path / "target/odd").stat().st_mode & 0o7777 == 0o644
    assert (tmp_path / "target").stat().st_mode & 0o777 == 0o755


def test_files_are_as_old_as_their_unpacking(tmp_path: Path) -> None:
    unpack(*archive(member("a")), tmp_path / "target")
    assert (tmp_path / "target/a").stat().st_mtime > 10**9  # 1970 is before what zip files can say


def test_links_inside_the_tree_are_made(tmp_path: Path) -> None:
    members = [member("z/l", "link", target="../a"), member("a", data=b"x"), member("d", "link", target="z")]
    unpack(*archive(*members), tmp_path / "target")
    assert (tmp_path / "target/d/l").read_bytes() == b"x"


def test_a_file_on_disk_is_unpacked_into_folders_that_were_not_there(tmp_path: Path) -> None:
    data, digest = archive(member("a", data=b"x"))
    (tmp_path / "bundle").write_bytes(data)
    unpack(tmp_path / "bundle", digest, tmp_path / "work/target")
    assert os.listdir(tmp_path / "work") == ["target"]
    assert (tmp_path / "work/target/a").read_bytes() == b"x"


def test_a_target_with_content_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target/mine").touch()
    with pytest.raises(BundleError, match="cannot unpack bundle"):
        unpack(*archive(member("a")), tmp_path / "target")
    assert os.listdir(tmp_path) == ["target"]
    assert os.listdir(tmp_path / "target") == ["mine"]


def test_a_bundle_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="cannot unpack bundle"):
        unpack(tmp_path / "absent", "0" * 64, tmp_path / "target")


GOOD = tar_of(
    [
        (member("a", data=b"x" * 700), b"x" * 700),
        (member("ü" * 120), b""),
        (member("d", "folder"), b""),
        (member("l", "link", target="a"), b""),
    ]
)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), max_size=6), st.integers(0, len(GOOD)))
def test_damaged_archives_unpack_inside_the_target_or_not_at_all(damage: list[tuple[int, int]], end: int) -> None:
    tar = bytearray(GOOD)
    for at, value in damage:
        tar[at] = value
    data, digest = compressed(bytes(tar[:end]))
    with tempfile.TemporaryDirectory() as folder:
        try:
            unpack(data, digest, Path(folder, "in/target"), limit_bytes=10_000)
        except BundleError:
            assert not os.path.exists(Path(folder, "in")) or os.listdir(Path(folder, "in")) == []
        else:
            assert os.listdir(Path(folder, "in")) == ["target"]
        assert set(os.listdir(folder)) <= {"in"}
