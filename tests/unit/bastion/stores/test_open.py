"""Opening a bucket by its URL."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bastion.model.errors import BucketNotFound, UsageError
from bastion.stores.opening import open_bucket


def test_a_path_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("./bucket", "bucket/", str(tmp_path / "bucket"), f"file://{tmp_path}/bucket/"):
        assert open_bucket(name, create=True).url == f"file://{tmp_path}/bucket"


def test_a_missing_folder_is_only_made_when_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BucketNotFound):
        open_bucket(str(tmp_path / "bucket"))
    assert not (tmp_path / "bucket").exists()


def test_memory_and_cloud_have_their_schemes(gcs_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", gcs_address)
    assert open_bucket("memory://x/").url == "memory://x"
    assert open_bucket("gs://bucket/a/b/").url == "gs://bucket/a/b"


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("", "use file:///folder, gs://bucket/prefix, s3://bucket/prefix"),
        ("://x", "use file:///folder, gs://bucket/prefix, s3://bucket/prefix"),
        ("fiel:///x", "did you mean file"),
        ("abf://x", "did you mean abfs"),
        ("gcs://x", "use gs://"),
        ("s3a://x", "use s3://"),
        ("local:///x", "use file://"),
    ],
)
def test_an_unknown_scheme_is_answered_with_the_nearest(url: str, answer: str) -> None:
    with pytest.raises(UsageError, match=answer):
        open_bucket(url)


def test_a_scheme_of_fsspec_without_its_package_says_which_one() -> None:
    with pytest.raises(UsageError, match=r"az://container/x needs a package: .*adlfs"):
        open_bucket("az://container/x")


def test_the_cloud_library_is_loaded_only_for_a_cloud_bucket() -> None:
    heavy = "{'google.cloud.storage', 'requests', 'tenacity', 'asyncio', 'fsspec', 's3fs'}"
    script = f"import sys, bastion.stores.opening; print(sorted({heavy} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout == "[]\n"
