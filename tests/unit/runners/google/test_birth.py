"""Machines are told of a build that is in the bucket, and it is made once."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest

from bastion.model.errors import BucketError
from bastion.model.interfaces import AttemptKey, Shell
from bastion.platform.shell import SystemShell
from bastion.runners.delivery.archive import Archive
from bastion.runners.google.machines.boot import MachineBoot
from bastion.stores.memory import MemoryBucket

KEY = AttemptKey("train-12345678", 0, 0)
DATA = b"a build"
DIGEST = hashlib.sha256(DATA).hexdigest()


class Broken(MemoryBucket):
    """Refuses the first write."""

    broken = True

    def create(self, key: str, data: bytes) -> str | None:
        if self.broken:
            self.broken = False
            raise BucketError("no answer")
        return super().create(key, data)


def test_many_creations_at_once_make_one_build_that_is_there_before_any_machine() -> None:
    bucket, made = MemoryBucket("memory://birth"), []

    def make(_: Shell) -> Archive:
        made.append(1)
        return Archive(DIGEST, lambda: DATA)

    birth = MachineBoot(bucket, "gs://b/demo", SystemShell(), {"steady_flush_s": "9"}, make=make)
    with ThreadPoolExecutor(8) as capacity:
        told = list(capacity.map(lambda number: birth(KEY, f"z/n{number}/4f2a"), range(32)))
    assert made == [1]
    assert {each["bastion-build"] for each in told} == {DIGEST}
    assert bucket.read(f"builds/{DIGEST}.tar.gz").data == DATA
    assert '"steady_flush_s": "9"' in told[0]["bastion-worker"]


def test_a_build_that_did_not_reach_the_bucket_is_sent_again_and_told_to_nobody_before() -> None:
    bucket, made = Broken("memory://broken-birth"), []

    def make(_: Shell) -> Archive:
        made.append(1)
        return Archive(DIGEST, lambda: DATA)

    birth = MachineBoot(bucket, "gs://b/demo", SystemShell(), {}, make=make)
    with pytest.raises(BucketError):
        birth(KEY, "z/n/4f2a")
    assert birth(KEY, "z/n/4f2a")["bastion-build"] == DIGEST
    assert made == [1]
    assert bucket.read(f"builds/{DIGEST}.tar.gz").data == DATA
