"""Moments that are to come, as people write them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bastion.model.durations import coming
from bastion.model.errors import UsageError
from tests.support.world import NOON


@pytest.mark.parametrize(
    ("text", "hours"),
    [("+2h", 2), ("+90m", 1.5), ("+0", 0), ("14:00", 2), ("9:30", 21.5), ("12:00", 24), ("12:00:01", 1 / 3600)],
)
def test_a_length_from_now_or_the_next_such_time_of_day(text: str, hours: float) -> None:
    assert coming(text, NOON, "--begin") == NOON + timedelta(hours=hours)


def test_a_time_with_its_zone_wherever_the_clock_is() -> None:
    assert coming("2026-02-01T09:30:00+02:00", NOON, "--begin").isoformat() == "2026-02-01T07:30:00+00:00"
    assert coming("2020-01-01T00:00:00Z", NOON, "--begin") < NOON


@pytest.mark.parametrize(
    "text", ["2h", "-2h", "24:00", "9:5", "2026-02-01", "2026-02-01T09:30:00", "+", "+2w", "soon", ""]
)
def test_anything_else_is_refused_by_the_flags_name(text: str) -> None:
    with pytest.raises(UsageError, match="--begin is"):
        coming(text, NOON, "--begin")


def test_a_time_beyond_all_calendars_is_refused() -> None:
    with pytest.raises(UsageError, match=r"--begin is '\+99999999d'"):
        coming("+99999999d", NOON, "--begin")
