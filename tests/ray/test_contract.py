"""The Ray runner keeps the runners' contract: a real Ray, real workers, a folder as the bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.testing.runner_contract import RunnerContract
from tests.ray.cluster import Cluster
from tests.ray.fleet import RayFleet


@pytest.fixture
def fleet(cluster: Cluster, tmp_path: Path) -> Iterator[RayFleet]:
    fleet = RayFleet(cluster, tmp_path)
    yield fleet
    fleet.close()


class TestRayRunner(RunnerContract):
    devices = {"h100": 1}
