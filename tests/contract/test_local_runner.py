"""The local runner keeps the runners' contract: real processes, a folder as the bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.local_fleet import LocalFleet
from tests.contract.runner_contract import RunnerContract


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[LocalFleet]:
    fleet = LocalFleet(tmp_path)
    yield fleet
    fleet.close()


class TestLocalRunner(RunnerContract):
    pass
