"""Bundles that a stranger made: the attempt ends in its setup, says why, and nothing is written outside its folder."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import uuid
from pathlib import Path
from typing import Any

import pytest
import zstandard

from tests.support.fleet import Fleet, files


def packed(*members: tuple[str, bytes, str]) -> bytes:
    """An archive of (name, kind, link's target) members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.size = 4 if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(b"evil") if info.size else None)
    return zstandard.ZstdCompressor().compress(out.getvalue())


def run_bundle(fleet: Fleet, data: bytes, **changes: Any) -> Any:
    """A job with this bundle, as it stands after its end."""
    digest = hashlib.sha256(data).hexdigest()
    key = f"bundles/{digest}.tar.zst"
    fleet.put(key, data)
    spec = {
        "name": "bundled",
        "user": "alice",
        "project": "nlp",
        "command": ["cat", "good"],
        "resources": {"v4": 1},
        "bundle": {"type": "tar", "key": key, "digest": digest, **changes},
    }
    request = uuid.uuid4().hex
    fleet.put(f"inbox/alice/{request}.json", json.dumps({"kind": "submit", "spec": spec}).encode())
    job = f"bundled-{request[:8]}"
    fleet.until_known(job)
    fleet.wait(job)
    return fleet.job(job)


def test_a_good_one_runs(shared: Fleet) -> None:
    """So that those below fail for what is wrong with them, and for nothing else."""
    assert run_bundle(shared, packed(("good", tarfile.REGTYPE, "")))["state"] == "SUCCEEDED"


@pytest.mark.parametrize(
    ("member", "complaint"),
    [
        (("../escaped", tarfile.REGTYPE, ""), "'../escaped'"),
        (("a/../../escaped", tarfile.REGTYPE, ""), "escaped'"),
        (("/tmp/escaped", tarfile.REGTYPE, ""), "'/tmp/escaped'"),
        (("out", tarfile.SYMTYPE, "/etc"), "/etc"),
        (("out", tarfile.SYMTYPE, "../../.."), "../../.."),
        (("out", tarfile.LNKTYPE, "/etc/passwd"), "out"),
        (("disk", tarfile.BLKTYPE, ""), "disk"),
        (("zero", tarfile.CHRTYPE, ""), "zero"),
        (("pipe", tarfile.FIFOTYPE, ""), "pipe"),
    ],
)
def test_an_archive_that_reaches_out_is_refused(
    shared: Fleet, member: tuple[str, bytes, str], complaint: str, tmp_path: Path
) -> None:
    job = run_bundle(shared, packed(("good", tarfile.REGTYPE, ""), member))
    (attempt,) = job["attempts"]
    assert (job["state"], attempt["cause"]) == ("FAILED", "setup")
    assert complaint in job["reason"]
    assert not [path for path in files(shared.folder) if path.name.endswith("escaped")]
    assert not Path("/tmp/escaped").exists()


def test_a_bundle_that_is_too_large_is_not_even_read(shared: Fleet) -> None:
    huge = shared.root / "bundles" / "huge.tar.zst"
    huge.parent.mkdir(exist_ok=True)
    with huge.open("wb") as file:
        file.truncate(2**40)  # without a byte on the disk
    job = run_bundle(shared, packed(), key="bundles/huge.tar.zst")
    huge.unlink()
    assert job["attempts"][0]["cause"] == "setup"
    assert "bundles/huge.tar.zst is too large" in job["reason"]


@pytest.mark.parametrize(
    ("data", "changes", "complaint"),
    [
        (b"no archive at all", {}, "cannot be read as an archive"),
        (packed(("good", tarfile.REGTYPE, "")), {"digest": "0" * 64}, "launch the job again"),
        (packed(("good", tarfile.REGTYPE, "")), {"key": "bundles/gone.tar.zst"}, "bundles/gone.tar.zst"),
        (packed(("good", tarfile.REGTYPE, "")), {"key": "../../etc/passwd"}, "../../etc/passwd"),
        (packed(("good", tarfile.REGTYPE, "")), {"type": "cpio"}, "'cpio'"),
    ],
)
def test_what_is_not_the_bundle_it_should_be_is_refused(
    shared: Fleet, data: bytes, changes: dict[str, str], complaint: str
) -> None:
    job = run_bundle(shared, data, **changes)
    (attempt,) = job["attempts"]
    assert (job["state"], attempt["cause"]) == ("FAILED", "setup")
    assert complaint in job["reason"]
    assert complaint in shared.log(job["id"])
