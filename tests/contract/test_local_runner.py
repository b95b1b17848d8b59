"""The local runner keeps the runners' contract: real processes, a folder as the bucket."""

from __future__ import annotations

import pytest

from bastion.runners.local.gpus import LocalGpu
from bastion.testing.runner_contract import RunnerContract
from tests.contract.local_fleet import LocalFleet


@pytest.fixture
def fleet(fleet: LocalFleet) -> LocalFleet:
    fleet.runner.devices = [LocalGpu(str(n), "h200") for n in range(4)]
    return fleet


class TestLocalRunner(RunnerContract):
    devices = {"h200": 2}
