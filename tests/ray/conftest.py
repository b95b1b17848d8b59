"""One Ray for all tests here: it takes some ten seconds to start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.ray.cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    yield cluster
    cluster.close()
