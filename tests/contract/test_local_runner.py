"""The local runner keeps the runners' contract: real processes, a folder as the bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion_testing.runner_contract import RunnerContract
from runners.local.gpus import Gpu
from tests.contract.local_fleet import LocalFleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[LocalFleet]:
    fleet = LocalFleet(tmp_path)
    fleet.runner.devices = [Gpu(str(n), "h200") for n in range(4)]
    yield fleet
    fleet.close()


class TestLocalRunner(RunnerContract):
    devices = {"h200": 2}
