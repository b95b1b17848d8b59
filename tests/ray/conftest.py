"""One Ray for all tests here: it takes some ten seconds to start, and ends with them, for it is never quite idle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bastion.runners.local import process_marks
from bastion.testing.fleets import until
from tests.ray.cluster import Cluster


@pytest.fixture(scope="package")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
        until(lambda: not cluster.machines(), "the end of all that tests have started on Ray")
    finally:
        process_marks.kill(cluster.machines())
        cluster.close()
    assert cluster.processes() == []
