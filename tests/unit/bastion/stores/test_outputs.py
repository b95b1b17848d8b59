"""Output folders: what a stranger may have put there, and what goes wrong on the way."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fsspec.registry import _registry

from bastion.model.errors import BastionError, BucketError, UsageError
from bastion.stores.job_files import JobFile, JobFiles
from tests.support.flat import STORES, Flat, registered


@pytest.fixture(autouse=True)
def flat() -> Iterator[None]:
    with registered():
        yield
    STORES.clear()


def put(path: str, data: bytes) -> None:
    Flat().pipe_file(path, data)


def test_files_are_named_below_their_folder() -> None:
    put("s/out/a", b"1")
    put("s/out/deep/b", b"22")
    put("s/outside", b"")
    found = JobFiles("flat://s/out/").files()
    assert [(file.name, file.size) for file in found] == [("a", 1), ("deep/b", 2)]
    assert all(file.modified and file.modified <= datetime.now(UTC) for file in found)


@pytest.mark.parametrize("name", ["../evil", "/etc/evil", "a/../../evil", ""])
def test_a_name_that_leads_out_of_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    put(f"s/out/{name}", b"evil")
    with pytest.raises(BastionError, match="is not a valid name of a file below a folder"):
        JobFiles("flat://s/out").fetch(JobFile(name, 4, None), tmp_path / "here")
    assert list(tmp_path.rglob("*")) == []


def test_what_breaks_off_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(self: Flat, path: str, target: str) -> None:
        Path(target).write_bytes(b"half")
        raise ConnectionError("reset")

    put("s/out/a", b"whole")
    (tmp_path / "a").write_text("old")
    monkeypatch.setattr(Flat, "get_file", breaks)
    with pytest.raises(BucketError, match=r"cannot fetch flat://s/out/a to .*: reset"):
        JobFiles("flat://s/out").fetch(JobFile("a", 5, None), tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a": "old"}


def test_a_path_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("1")
    assert [file.name for file in JobFiles(str(tmp_path / "out")).files()] == ["a"]
    assert JobFiles(f"file://{tmp_path}/nowhere").files() == []


@pytest.mark.parametrize(("url", "module", "extra"), [("s3://b/x", "s3fs", "s3"), ("gs://b/x", "gcsfs", "gcsfs")])
def test_without_its_package_the_way_to_it_is_told(
    url: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(_registry, url[:2], raising=False)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UsageError, match=rf'pip install "bastion-scheduler\[{extra}\]"'):
        JobFiles(url)
