"""What every bucket promises: subclass `BucketContract` and give it the fixture `opened`."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from bastion.model.errors import TooLarge
from bastion.model.interfaces import Bucket
from bastion.stores.conformance.bench import Check, TestStore
from bastion.stores.conformance.suite import CHECKS, FULL

LARGE = 16 << 20


class BucketContract:
    rewrites = 100
    """How many writes of the same bytes must all give other versions."""

    @pytest.fixture
    def opened(self) -> Callable[[], Bucket]:
        """Opens one store, empty at first, again with each call."""
        raise NotImplementedError

    @pytest.fixture
    def bucket(self, opened: Callable[[], Bucket]) -> Bucket:
        return opened()

    @pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
    def test_keeps_the_promise(self, opened: Callable[[], Bucket], check: Check) -> None:
        check(TestStore(opened, replace(FULL, rewrites=self.rewrites)))

    def test_no_more_is_taken_in_than_the_limit_of_a_read(self, bucket: Bucket) -> None:
        bucket.write("large", b"x" * LARGE)
        with suppress(TooLarge):
            bucket.read("large", 1)  # whatever a client loads at first is no part of what is measured
        tracemalloc.start()
        try:
            with pytest.raises(TooLarge):
                bucket.read("large", 1_000)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < LARGE / 8
        assert len(bucket.read("large", LARGE).data) == LARGE, "and the next one is served as ever"
