"""The bucket in memory keeps the promises of every bucket."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import uuid4

import pytest

from bastion.model.errors import UsageError
from bastion.model.interfaces import Bucket
from bastion.stores.memory import MemoryBucket
from tests.contract.bucket_contract import BucketContract


class TestMemoryBucket(BucketContract):
    rewrites = 1000

    @pytest.fixture
    def opened(self) -> Callable[[], Bucket]:
        return partial(MemoryBucket, f"memory://{uuid4()}")

    def test_another_name_is_another_store(self, bucket: Bucket) -> None:
        bucket.write("a", b"")
        assert list(MemoryBucket(bucket.url + "x").list("")) == []
        assert [stat.key for stat in MemoryBucket(bucket.url + "/").list("")] == ["a"]

    def test_a_store_without_a_name_is_refused(self) -> None:
        with pytest.raises(UsageError, match="memory://name"):
            MemoryBucket("memory://")
