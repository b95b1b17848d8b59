"""The runner kubernetes keeps the runners' contract: real HTTP, real workers, a folder as the bucket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bastion.testing.runner_contract import RunnerContract
from tests.kubernetes.fake.kubelet import Node
from tests.kubernetes.fleet import KubernetesFleet

_V5P_16 = {"accelerator": "tpu-v5p-slice", "topology": "2x2x2"}


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[KubernetesFleet]:
    fleet = KubernetesFleet(tmp_path)
    with fleet.cluster.changed() as kubelet:
        kubelet.nodes["tpus"] = Node({f"cloud.google.com/gke-tpu-{name}": value for name, value in _V5P_16.items()})
    yield fleet
    fleet.close()


class TestKubernetesRunner(RunnerContract):
    wide = {"v5p": 16}
