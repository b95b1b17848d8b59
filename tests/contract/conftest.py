"""This machine as a fleet; and a bucket behind a proxy, with the limits that a test of faults wants.

The fixture `opens` of its module makes the bucket.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.contract.fault_contract import acquaint
from tests.contract.local_fleet import LocalFleet
from tests.support.faultproxy import FaultProxy

Opens = Callable[..., Any]


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[LocalFleet]:
    """This machine, and nothing left on it."""
    fleet = LocalFleet(tmp_path)
    yield fleet
    fleet.close()


@pytest.fixture
def bucket(opens: Opens) -> Iterator[Any]:
    """It has more time than it needs."""
    with closing(opens(limit_s=120, request_s=60)) as bucket:
        yield bucket


@pytest.fixture
def hasty(opens: Opens, proxy: FaultProxy) -> Iterator[Any]:
    """It has little time for anything."""
    with closing(opens(limit_s=3, request_s=0.5)) as bucket:
        acquaint(bucket, proxy)
        yield bucket


@pytest.fixture
def steady(opens: Opens) -> Iterator[Any]:
    """It has little time for one request, and more than it needs for all."""
    with closing(opens(limit_s=120, request_s=1)) as bucket:
        yield bucket
