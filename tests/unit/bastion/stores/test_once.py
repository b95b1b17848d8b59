"""Creating once: whose object it is, also when answers are lost and objects vanish."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

import pytest

from bastion.model.errors import BucketError
from bastion.stores.counting import CountingBucket
from bastion.stores.create_once import CreateResult, create_once
from bastion.stores.memory import MemoryBucket


@dataclass
class Forgetful(CountingBucket):
    """A bucket that loses the answers of its first creates, and objects while nobody looks."""

    lost: int = 0
    vanishing: int = 0

    def __post_init__(self) -> None:
        super().__init__(MemoryBucket(f"memory://{uuid4()}"))

    def create(self, key: str, data: bytes) -> str | None:
        version = super().create(key, data)
        if self.vanishing:
            self.vanishing -= 1
            self.delete([key])
            return None
        if self.lost:
            self.lost -= 1
            return None
        return version


@pytest.fixture
def bucket() -> MemoryBucket:
    return MemoryBucket(f"memory://{uuid4()}")


def test_the_first_is_ours(bucket: MemoryBucket) -> None:
    once = create_once(bucket, "a", b"mine")
    assert once == CreateResult(True, b"mine", bucket.read("a").version)


def test_the_second_learns_what_stands_there(bucket: MemoryBucket) -> None:
    version = bucket.write("a", b"theirs")
    assert create_once(bucket, "a", b"mine") == CreateResult(False, b"theirs", version)
    assert bucket.read("a").data == b"theirs"


def test_a_lost_answer_is_settled_by_the_bytes() -> None:
    bucket = Forgetful(lost=1)
    once = create_once(bucket, "a", b"mine")
    assert once == CreateResult(True, b"mine", bucket.read("a").version)


@pytest.mark.parametrize("times", [1, 4])
def test_a_key_that_was_freed_meanwhile_is_tried_again(times: int) -> None:
    bucket = Forgetful(vanishing=times)
    assert create_once(bucket, "a", b"mine").mine
    assert bucket.counts["create"] == times + 1


def test_a_key_that_keeps_vanishing_is_a_failure_in_the_end() -> None:
    bucket = Forgetful(vanishing=1000)
    with pytest.raises(BucketError, match="was created and deleted 5 times"):
        create_once(bucket, "a", b"mine")
    assert bucket.counts["create"] == 5
