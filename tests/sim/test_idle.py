"""However many jobs wait, an idle tick asks the bucket at most twice."""

from __future__ import annotations

import pytest

from tests.sim.idle import requests_per_poll


@pytest.mark.parametrize(("pending", "poll_s"), [(0, 0.5), (0, 1.0), (1_000, 0.5), (1_000, 1.0), (10_000, 0.5)])
def test_an_idle_tick_costs_two_requests_at_most(pending: int, poll_s: float) -> None:
    assert 1 <= requests_per_poll(pending, poll_s) <= 2
