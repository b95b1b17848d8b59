"""What the tests on a real Slurm share: one cluster for all of them, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.slurm.cluster import Cluster, cluster
from tests.slurm.fleet import SlurmFleet


@pytest.fixture(scope="session")
def slurm() -> Iterator[Cluster]:
    """A real Slurm, with nothing in it."""
    with cluster() as running:
        yield running


@pytest.fixture
def fleet(tmp_path: Path, slurm: Cluster) -> Iterator[SlurmFleet]:
    """The runner's fleet on it."""
    fleet = SlurmFleet(tmp_path, slurm)
    yield fleet
    fleet.close()
