"""The doctor names objects below the prefix that nobody of ours writes, and finds none among those that we do."""

from __future__ import annotations

from pathlib import Path

import pytest

from bastion.cli.bastion.parts.doctor_checks import ODD_MAX, Examination
from bastion.cli.common.place import BastionPlace
from bastion.model import layout
from bastion.model.interfaces import AttemptKey
from bastion.platform.system import RandomIds, SystemClock, ThreadTasks
from bastion.stores.memory import MemoryBucket
from tests.golden.meaning import BUCKET, recordings

KEY = AttemptKey("j-11111111", 3, 12)
OURS = (
    layout.QUOTA, layout.CONFIG, layout.STATUS, layout.request("ann", "0" * 32), layout.journal(7), layout.snapshot(7),
    layout.ended("j-11111111"), layout.order(KEY), layout.stop(KEY), layout.peers(KEY), layout.claim(KEY, 2),
    layout.beat(KEY, 2), layout.facts(KEY, 2), layout.segment(layout.log(KEY, 2), 0),
    layout.segment(layout.bastion_log(1), 0), layout.bundle("a" * 64, "tar.zst"), layout.build("a" * 64),
    layout.watch("j-11111111", 3), f"{layout.outputs('j-11111111', 3)}/model/best.pt", layout.probe(layout.JOURNAL, "n"),
)  # fmt: skip


@pytest.mark.parametrize("key", OURS)
def test_what_we_write_is_ours(key: str) -> None:
    assert layout.is_ours(key)


def test_all_that_any_version_wrote_is_ours() -> None:
    keys = [
        str(file.relative_to(folder / BUCKET))
        for folder in recordings()
        for file in (folder / BUCKET).rglob("*")
        if file.is_file()
    ]
    assert len(keys) > 20
    assert [key for key in keys if not layout.is_ours(key)] == []


@pytest.mark.parametrize(
    "key", ["jobs/active/byhand", "notes.txt", "journal/notes.txt", "journal/7.json", "claims/j/0/0", "status.json.bak"]
)
def test_what_others_put_there_is_odd(key: str, tmp_path: Path) -> None:
    assert odd([*OURS, key]) == f"{key}: not named like an object of Bastion; nothing reads or removes them"


def test_a_few_are_named() -> None:
    assert odd(OURS) == "none"
    told = odd([f"jobs/{number:03d}" for number in range(99)])
    assert told.startswith("jobs/000, jobs/001, ")
    assert told.count("jobs/") == ODD_MAX


def odd(keys: object) -> str:
    """What the doctor says of a bucket with these objects."""
    bucket = MemoryBucket(f"memory://{RandomIds().new()}")
    for key in keys:  # type: ignore[attr-defined]
        bucket.create(key, b"x")
    look = Examination(BastionPlace("b", bucket, bucket), "ann", SystemClock(), RandomIds(), ThreadTasks())
    return look._odd().found
