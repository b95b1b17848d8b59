"""Setups where the worker comes from an archive: the environment is the machine's own Python's, and is made once for a bundle."""

from __future__ import annotations

import hashlib
import io
import tarfile
from pathlib import Path

import zstandard

from bastion.model.interfaces import AttemptKey
from bastion.model.job.spec import BundleRef
from bastion.runners.delivery.archive import Archive
from bastion.testing.stage import order
from tests.google.support.posted import Posted

PATH = "/usr/local/bin:/usr/bin:/bin"
SETUP = 'pip --version | cut -c1-3; python3 -c \'import hello; open("made", "w").write(hello.WORD)\''
SEES = """
cat made; echo
python3 -c 'import os, sys; print(sys.prefix == os.environ["VIRTUAL_ENV"], sys.base_prefix)'
env | grep /w/bin/ || echo no trace
"""


def bundle(posted: Posted) -> BundleRef:
    """One module, as `launch` packs it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("hello.py")
        member.size = len(text := b"WORD = 'hello'\n")
        archive.addfile(member, io.BytesIO(text))
    data = zstandard.compress(packed.getvalue())
    digest = hashlib.sha256(data).hexdigest()
    posted.bucket.write(f"demo/bundles/{digest}.tar.zst", data)
    return BundleRef(type="tar", key=f"bundles/{digest}.tar.zst", digest=digest)


def test_a_setup_has_the_machines_python_and_is_run_once_for_a_bundle(tmp_path: Path, archive: Archive) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive.read())) as packed:
        packed.extractall(tmp_path / "w", filter="tar")
    logs = []
    for attempt in (0, 1):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        posted = Posted(folder, key := AttemptKey("train-12345678", 0, attempt))
        wish = order(key, SEES, setup=SETUP, bundle=bundle(posted))
        python = [str(tmp_path / "w/bin/python3")]
        with posted.running(wish, python=python, environ={"PATH": PATH}, cache=tmp_path / "setups"):
            assert posted.ended().exit_code == 0, posted.log()
        logs.append(posted.log().splitlines())
    said = ["hello", "True /usr", "no trace"]
    assert logs[0] == [f"[bastion] setup: {SETUP}", "pip", *said]
    assert logs[1] == ["[bastion] the setup was run before on this machine, for this code", *said]
