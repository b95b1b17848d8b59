"""What every bucket promises: subclass `BucketContract` and give it the fixture `opened`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from bastion.buckets.conformance import CHECKS, FULL
from bastion.buckets.stage import Check, Stage
from bastion.ports import Bucket


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
        check(Stage(opened, replace(FULL, rewrites=self.rewrites)))
