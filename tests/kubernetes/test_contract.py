"""The runner kubernetes keeps the runners' contract: real HTTP, real workers, a folder as the bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion_testing.runner_contract import RunnerContract
from tests.kubernetes.fleet import KubernetesFleet


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[KubernetesFleet]:
    fleet = KubernetesFleet(tmp_path)
    yield fleet
    fleet.close()


class TestKubernetesRunner(RunnerContract):
    wide = {"v5p": 16}
